"""One budget for a memory: per task, per phase or in total, in frames or in encoded bytes."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import prepared_task

from phaser.core.errors import BadInput
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.memory.even import Even
from phaser.memory.herding import Herding
from phaser.memory.nothing import Nothing
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.reservoir import Reservoir
from phaser.memory.sizes import PieceSizes

MAKERS = [
    Budget.per_task,
    Budget.per_phase,
    Budget.bytes_per_task,
    Budget.total,
    Budget.total_bytes,
]
TASK = prepared_task(num_demos=5, lengths=(20, 9, 30))
STREAM = Streams(0).named("keep")
THOUSAND = PieceSizes(size_of=lambda piece: 1000)


def frames_of(buckets):
    return [frame for bucket in buckets for frame in bucket.frames]


def kept_in_a_row(budget, rule, *, num_tasks, sizes=None):
    """The outcome after each of many tasks, all kept within one budget."""
    memory, found = Memory(), []
    for number in range(num_tasks):
        task = prepared_task(f"task-{number}", lengths=(20, 9, 30), seed=number)
        found.append(budget.keep(rule, task, memory, stream=STREAM, sizes=sizes))
        memory = found[-1].memory
    return found


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("amount", [0, -5, True])
def test_a_budget_below_one_or_of_no_whole_number_is_refused(make, amount):
    with pytest.raises(BadInput, match="expected a whole number of at least 1"):
        make(amount)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"unit": "bytes", "per": "phase"}, "a budget in bytes per phase"),
        ({"per": "memory", "floor": 0}, "a budget with floor 0"),
    ],
)
def test_a_budget_that_means_nothing_is_refused(wrong, message):
    with pytest.raises(BadInput, match=message):
        Budget(**wrong)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (Budget.per_task(18), 18),
        (Budget.per_phase(5), 15),
        (Budget.bytes_per_task(20_999), 20),
        (Budget.total(18), 18),
        (Budget.total_bytes(20_999), 20),
    ],
)
def test_a_first_task_keeps_as_much_as_its_budget_allows(budget, expected):
    kept = budget.keep(PhaseBuckets(), TASK, stream=STREAM, sizes=THOUSAND)
    assert len(frames_of(kept.buckets)) == kept.memory.num_frames == expected
    assert kept.evicted == {}


def test_a_rule_that_keeps_nothing_needs_no_room():
    kept = Budget.bytes_per_task(1).keep(Nothing(), TASK, stream=STREAM)
    assert (kept.buckets, kept.memory.buckets, kept.evicted) == ((), (), {})


def test_a_budget_in_bytes_needs_the_size_of_a_frame():
    with pytest.raises(BadInput, match="'lift': a budget in bytes needs the encoded size"):
        Budget.bytes_per_task(1000).keep(Reservoir(), TASK, stream=STREAM)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (Budget.per_task(2), "task 'lift': a budget of 2 frames is smaller than the 3 phases"),
        (Budget.bytes_per_task(2_999), r"task 'lift': a budget of 2999 bytes.* takes 3000"),
        (Budget.total(2), r"task 'lift': a total of 2 frames, .* take 3; give at least 3"),
    ],
)
def test_a_budget_too_small_for_a_task_names_the_task_and_the_number_needed(budget, message):
    with pytest.raises(BadInput, match=message) as caught:
        budget.keep(PhaseBuckets(), TASK, stream=STREAM, sizes=THOUSAND)
    assert str(caught.value).count("task 'lift'") == 1


@pytest.mark.parametrize("rule", [PhaseBuckets(), Even(), Reservoir(), Herding()], ids=str)
@settings(max_examples=15)
@given(total=st.integers(24, 300), num_tasks=st.integers(1, 8))
def test_with_a_total_older_tasks_give_way_evenly_and_only_frames_that_were_stored_stay(
    rule, total, num_tasks
):
    before = Memory()
    for kept in kept_in_a_row(Budget.total(total), rule, num_tasks=num_tasks):
        held = kept.memory.frames_per_task()
        # 4 demonstrations of 59 frames are 236, or 80 on the stride of a rule with phases.
        most = 80 if isinstance(rule, PhaseBuckets) else 236
        assert sum(held.values()) == min(total, most * len(held))
        assert max(held.values()) - min(held.values()) <= 1
        stayed = set(frames_of(kept.memory.buckets)) - set(frames_of(kept.buckets))
        assert stayed <= set(frames_of(before.buckets))
        assert sum(kept.evicted.values()) == before.num_frames - len(stayed)
        before = kept.memory


def test_with_a_total_every_phase_keeps_its_floor_until_the_floors_take_more_than_all():
    budget = Budget.total(24, floor=2)
    last = kept_in_a_row(budget, PhaseBuckets(), num_tasks=4)[-1]
    assert [len(bucket.frames) for bucket in last.memory.buckets] == [2] * 12
    with pytest.raises(BadInput, match=r"task 'task-4': a total of 24 frames.* give at least 30"):
        kept_in_a_row(budget, PhaseBuckets(), num_tasks=5)


def test_a_total_in_bytes_is_never_exceeded_and_one_more_level_would_not_fit():
    sizes = {0: 700, 1: 1000, 2: 1300, 3: 900}
    for kept in kept_in_a_row(
        Budget.total_bytes(30_000),
        PhaseBuckets(),
        num_tasks=6,
        sizes=PieceSizes(size_of=lambda piece: sizes[piece[0].demo]),
    ):
        held = sum(sizes[ref.demo] for ref in frames_of(kept.memory.buckets))
        assert 30_000 - 1300 * len(kept.memory.by_task()) < held <= 30_000


def test_what_stays_of_an_even_memory_is_even_and_of_a_herded_one_its_prefix():
    even, herded = (
        kept_in_a_row(Budget.total(48), rule, num_tasks=3) for rule in (Even(), Herding())
    )
    progress = sorted(ref.frame for ref in frames_of(even[-1].memory.by_task()["task-0"]))
    assert len(progress) == 16
    gaps = [b - a for a, b in pairwise(progress)]
    assert max(gaps) <= 2 * 59 / 16
    first = prepared_task("task-0", lengths=(20, 9, 30), seed=0)
    assert sorted(frames_of(herded[-1].memory.by_task()["task-0"])) == sorted(
        frames_of(Herding().select(first, 16, STREAM))
    )
