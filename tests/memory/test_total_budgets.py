"""A total budget: two hundred tasks, a fixed memory, and every phase keeps its floor."""

from __future__ import annotations

import contextlib
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.memory.codecs import ImageCodec
from phaser.memory.even import Even
from phaser.memory.herding import Herding, herding_order
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.reservoir import Reservoir
from phaser.memory.sample import NewTask
from phaser.memory.sizes import kept_sizes
from phaser.memory.spread import spread_ranks
from phaser.memory.store import Addition, Store
from phaser.memory.water_level import level_for
from phaser.testing import made_up

made_up_task = cache(made_up.made_up_task)

RULES = [Reservoir(), Even(), Herding(), PhaseBuckets(), PhaseBuckets(within="random", stride=1)]


def kept_stream(rule, budget, count, *, seed=0):
    """The memory after each of so many tasks."""
    memory = Memory()
    for number in range(count):
        name = f"task-{number}"
        stream = Streams(seed).named("keep", name)
        memory = budget.keep(rule, made_up_task(name, num_demos=2), memory, stream=stream).memory
        yield memory


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_two_hundred_tasks_never_hold_more_than_the_total(rule):
    budget = Budget.total(650)
    for number, memory in enumerate(kept_stream(rule, budget, 200), start=1):
        held = memory.frames_per_task()
        assert memory.num_frames <= 650
        assert len(held) == number
        # Once the memory is full, tasks hold equally many frames, to within one.
        if memory.num_frames == 650 and number > 10:
            assert max(held.values()) - min(held.values()) <= 1


def test_every_phase_keeps_its_floor_while_that_is_possible():
    budget = Budget.total(300, floor=2)
    *_, memory = kept_stream(PhaseBuckets(), budget, 50)
    assert memory.num_frames == 300
    assert {len(bucket.frames) for bucket in memory.buckets} == {2}


def test_a_total_below_all_floors_names_the_smallest_that_fits():
    budget = Budget.total(300, floor=2)
    *_, memory = kept_stream(PhaseBuckets(), budget, 50)
    stream = Streams(0).named("keep", "one more")
    with pytest.raises(BadInput, match=r"total of 300 frames.*take 306; give at least 306"):
        budget.keep(PhaseBuckets(), made_up_task("one more"), memory, stream=stream)


def test_what_survives_of_a_random_sample_is_as_uniform_as_the_sample():
    """Every frame of the first task is equally likely to outlive five later ones."""
    counts: dict[FrameRef, int] = {}
    rounds = 200
    for seed in range(rounds):
        *_, memory = kept_stream(Reservoir(), Budget.total(72), 6, seed=seed)
        for bucket in memory.by_task()["task-0"]:
            for ref in bucket.frames:
                counts[ref] = counts.get(ref, 0) + 1
    task = made_up_task("task-0", num_demos=2)
    frames = sum(demo.num_frames for demo in task.demos)
    expected = rounds * 12 / frames
    observed = np.array([*counts.values(), *[0] * (frames - len(counts))])
    chi_square = float(((observed - expected) ** 2 / expected).sum())
    # Twelve frames are drawn without replacement, so the counts vary a little less than
    # independent ones would; five deviations of a chi-square distribution bound both sides.
    degrees = frames - 1
    assert abs(chi_square - degrees) < 5 * (2 * degrees) ** 0.5


def test_an_even_selection_stays_even_when_it_gives_way():
    task = made_up_task(num_demos=1)
    buckets = Even().select(task, 40, Streams(0).named("keep"))
    for count in (20, 10, 7, 5, 3):
        buckets = Even().shrink(buckets, count)
        places = sorted(ref.frame for bucket in buckets for ref in bucket.frames)
        gaps = np.diff([-1, *places, task.demos[0].num_frames])
        assert len(places) == count
        # No gap is more than twice what a perfect grid would have, plus the rounding of frames.
        assert gaps.max() <= 2 * task.demos[0].num_frames / (count + 1) + 2


def test_herding_keeps_its_own_prefix():
    task = made_up_task()
    whole = Herding().select(task, 30, Streams(0).named("keep"))
    fewer = Herding().select(task, 12, Streams(0).named("keep"))
    frames = {ref for bucket in Herding().shrink(whole, 12) for ref in bucket.frames}
    assert frames == {ref for bucket in fewer for ref in bucket.frames}
    assert herding_order(np.eye(3), 2) == [0, 1]


@given(st.integers(1, 300))
def test_ranks_of_a_grid_are_a_permutation_whose_prefixes_spread(count):
    ranks = spread_ranks(count)
    assert sorted(ranks) == list(range(count))
    for kept in {1, 2, 3, count // 2, count} - {0}:
        if kept > count:
            continue
        places = [place for place, rank in enumerate(ranks) if rank < kept]
        gaps = np.diff([-1, *places, count])
        assert gaps.max() <= 2 * gaps[gaps > 0].min() + 2


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 40)), min_size=1, max_size=12),
    st.integers(0, 400),
)
def test_a_level_shares_a_total_exactly_and_evenly(tasks, extra):
    least = [low for low, _ in tasks]
    most = [low + more for low, more in tasks]
    total = sum(least) + extra
    counts = level_for(total, least=least, most=most)
    assert sum(counts) == min(total, sum(most))
    assert all(low <= count <= high for low, count, high in zip(least, counts, most, strict=True))
    # Whoever has more than another by two or more has it as its floor.
    for one, low in zip(counts, least, strict=True):
        for other, high in zip(counts, most, strict=True):
            assert one <= other + 1 or one == low or other == high


def sample_of(ref):
    rng = np.random.default_rng([ref.demo, ref.frame])
    return {"image": rng.integers(0, 255, (20, 20, 3), dtype=np.uint8), "frame": ref.frame}


def add_task(store, name, budget, rule):
    task = made_up_task(name, num_demos=2)

    def plan(now):
        sizes = kept_sizes(name, sample_of, ImageCodec(), store=lambda: now)
        stream = Streams(0).named("keep", name)
        kept = budget.keep(rule, task, now.memory, stream=stream, sizes=sizes)
        stays = kept.memory.by_task()
        new = NewTask(
            task=task.task, buckets=kept.buckets, sample_of=sample_of, source={"made": "up"}
        )
        return Addition(new=new, shrunk={name: stays[name] for name in kept.evicted})

    return store.add_planned(plan, ImageCodec())


@pytest.mark.parametrize(
    "budget", [Budget.total(40), Budget.total_bytes(60_000)], ids=lambda budget: str(budget)
)
def test_the_store_holds_what_the_budget_says_and_tells_what_was_evicted(tmp_path, budget):
    store = Store.create(tmp_path / "memory", about={})
    for number in range(8):
        store = add_task(store, f"task-{number}", budget, PhaseBuckets())
        store.verify()
        held = store.certificate()
        assert held[f"total_{budget.unit}"] <= budget.amount
        assert store.leftovers() == []
    assert {row["frames"] > 0 for row in held["frames_per_phase"]} == {True}
    first = [row for row in held["frames_per_phase"] if row["task"] == "task-0"]
    assert all(row["evicted"] > 0 for row in first)
    for ref, sample in zip(
        refs := [ref for bucket in store.memory.buckets for ref in bucket.frames],
        store.read(refs),
        strict=True,
    ):
        assert sample["frame"] == ref.frame
        assert np.array_equal(sample["image"], sample_of(ref)["image"])


def test_a_reader_goes_on_with_the_state_it_opened_while_tasks_give_way(tmp_path):
    store = add_task(
        Store.create(tmp_path / "memory", about={}), "old", Budget.total(30), PhaseBuckets()
    )
    reader = Store.open(tmp_path / "memory")
    refs = [ref for bucket in reader.memory.buckets for ref in bucket.frames]
    before = reader.read(refs)
    add_task(store, "new", Budget.total(30), PhaseBuckets())
    again = reader.read(refs)
    assert all(np.array_equal(a["image"], b["image"]) for a, b in zip(before, again, strict=True))
    assert Store.open(tmp_path / "memory").num_frames == 30


@pytest.mark.parametrize("stage", range(12))
def test_a_writer_killed_while_older_tasks_give_way_loses_nothing(tmp_path, monkeypatch, stage):
    """Whatever write is interrupted, the folder holds the old state or the new one, whole."""
    store = Store.create(tmp_path / "memory", about={})
    for name in ("one", "two"):
        store = add_task(store, name, Budget.total(30), PhaseBuckets())
    before = store.memory.frames_per_task()
    reached = iter(range(1000))

    def stop(*_):
        if next(reached) == stage * 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("phaser.core.files.reached", stop)
        with contextlib.suppress(KeyboardInterrupt):
            add_task(store, "three", Budget.total(30), PhaseBuckets())
    now = Store.open(tmp_path / "memory", writing=True)
    now.verify()
    held = now.memory.frames_per_task()
    assert held == before or held == {"one": 10, "two": 10, "three": 10}
    if "three" not in held:
        again = add_task(now, "three", Budget.total(30), PhaseBuckets())
        assert again.memory.frames_per_task() == {"one": 10, "two": 10, "three": 10}
        again.verify()
