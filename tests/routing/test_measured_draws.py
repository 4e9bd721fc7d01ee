"""Draws that ask the policy: what they rehearse, what they forget, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import prepared_task

from phaser.core.errors import BadInput
from phaser.core.memory import Memory
from phaser.core.ports import Sampler
from phaser.core.streams import Streams
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.reservoir import Reservoir
from phaser.routing.adaptive import Adaptive
from phaser.routing.balanced import Balanced
from phaser.routing.max_interference import MaxInterference
from phaser.routing.priority import Phases, action_divergence, context_overlap, priority
from phaser.routing.routed import Routed
from phaser.routing.uniform import Uniform
from phaser.testing.draw import MadeUpProbe, check_draw

STREAM = Streams(5).named("draw", "third")
CURRENT = prepared_task("third", seed=9)
ONES = MadeUpProbe(losses=lambda frames: np.ones(len(frames)))


def kept(*budgets):
    memory = Memory()
    for seed, (name, frames) in enumerate(zip(("first", "second"), budgets, strict=True)):
        task, stream = prepared_task(name, seed=seed), Streams(0).named("keep", name)
        memory = memory.with_buckets(Reservoir().select(task, frames, stream))
    return memory


def in_phases():
    memory = Memory()
    for seed, name in enumerate(("first", "second")):
        task, stream = prepared_task(name, seed=seed), Streams(0).named("keep", name)
        memory = memory.with_buckets(PhaseBuckets().select(task, 18, stream))
    return memory


MEMORY = in_phases()
STORED = [frame for bucket in MEMORY.buckets for frame in bucket.frames]


class Forgetting:
    """A policy whose loss on some buckets rises with every question."""

    num_steps = 500

    def __init__(self, *buckets):
        self.lost = {frame for at in buckets for frame in MEMORY.buckets[at].frames}
        self.asked = 0

    def __call__(self, refs):
        self.asked += 1
        return np.array([1.0 + self.asked * (ref in self.lost) for ref in refs])

    def interference(self, refs, *, step, learning_rate, variant="virtual"):
        raise AssertionError("not asked for")


@pytest.mark.parametrize(
    "draw",
    [
        Balanced(),
        Routed(over_current_phases="softmax"),
        MaxInterference(),
        MaxInterference(refreshes_per_task=50),
        MaxInterference(every_step=True, variant="snapshot"),
        MaxInterference(
            refreshes_per_task=33, variant="snapshot", num_candidates=1000, num_cached=3
        ),
        Adaptive(),
        Adaptive(measure_every=1, prior_measurements=0.0, uniform_share=0.0),
    ],
    ids=str,
)
def test_a_rule_that_asks_the_policy_conforms(draw):
    check_draw(draw)


@pytest.mark.parametrize("draw", [Balanced(), Uniform(), MaxInterference(), Adaptive()], ids=str)
def test_every_sampler_explains_itself(draw):
    sampler = draw.for_task(MEMORY, CURRENT, STREAM, ONES)
    assert isinstance(sampler, Sampler)
    assert sampler.priorities.shape == sampler.weights().shape == (6,)


def test_balanced_gives_a_small_task_as_much_as_a_large_one():
    memory = kept(6, 30)
    sampler = Balanced().for_task(memory, CURRENT, STREAM, ONES)
    tasks = np.array([bucket.phase.task for bucket in memory.buckets])
    assert sampler.weights()[tasks == "first"].sum() == pytest.approx(0.5)
    drawn = [frame.task for step in range(20) for frame in sampler.next(100, step)]
    assert 0.45 < drawn.count("first") / len(drawn) < 0.55
    sizes = np.array([len(bucket.frames) for bucket in memory.buckets])
    np.testing.assert_allclose(sampler.weights()[tasks == "second"], sizes[tasks == "second"] / 60)


def test_balanced_is_uniform_where_budgets_are_equal():
    memory = kept(18, 18)
    balanced = Balanced().for_task(memory, CURRENT, STREAM, ONES)
    uniform = Uniform().for_task(memory, CURRENT, STREAM, ONES)
    np.testing.assert_allclose(balanced.weights(), uniform.weights())
    assert balanced.next(32, 3) == uniform.next(32, 3)


def test_closest_takes_the_priority_at_the_current_phase_that_shares_most_context():
    draw = Routed(over_current_phases="closest")
    found = draw.for_task(MEMORY, CURRENT, STREAM, ONES).priorities
    past, new = Phases.stored(MEMORY), Phases.of(CURRENT.prototypes)
    context = context_overlap(past, new, centre_vision=True)
    scores = priority(context, action_divergence(past, new, motion_only=True))
    expected = [row[shared.argmax()] for row, shared in zip(scores, context, strict=True)]
    np.testing.assert_allclose(found, expected)
    highest = Routed().for_task(MEMORY, CURRENT, STREAM, ONES).priorities
    assert (found <= highest + 1e-12).all()
    assert (found < highest).any()


def test_softmax_over_current_phases_lies_between_mean_and_max():
    def priorities(over, **settings):
        draw = Routed(over_current_phases=over, **settings)
        return draw.for_task(MEMORY, CURRENT, STREAM, ONES).priorities

    mean, soft, highest = (priorities(over) for over in ("mean", "softmax", "max"))
    assert (mean <= soft + 1e-12).all()
    assert (soft <= highest + 1e-12).all()
    assert (mean < soft).any()
    np.testing.assert_allclose(priorities("softmax", temperature=0.0), highest)
    np.testing.assert_allclose(priorities("softmax", temperature=1e12), mean)


@settings(max_examples=30)
@given(
    refreshes=st.integers(1, 14),
    candidates=st.integers(1, 50),
    share=st.floats(0.01, 1),
    variant=st.sampled_from(["virtual", "snapshot"]),
)
def test_between_refreshes_the_same_few_frames_are_rehearsed(refreshes, candidates, share, variant):
    cached = max(1, round(candidates * share))
    draw = MaxInterference(
        refreshes_per_task=refreshes,
        num_candidates=candidates,
        num_cached=cached,
        variant=variant,
    )
    asked = []

    def increases(refs):
        asked.append(refs)
        return np.array([float(hash(ref) % 97) for ref in refs])

    probe = MadeUpProbe(increases=increases, num_steps=12)
    sampler = draw.for_task(MEMORY, CURRENT, STREAM, probe)
    seen = []
    for step in range(12):
        seen.append(set(sampler.next(64, step)))
        sampler.after_step(step)
    first = 1 if variant == "snapshot" else 0
    scored = min(candidates, len(STORED))
    assert all(len(set(refs)) == scored for refs in asked)
    for step in range(first, 12):
        # Evenly spread: as many refreshes are over as the steps so far, of all of them, allow.
        refresh = (step - first) * min(refreshes, 12) // 12
        refs = asked[refresh]
        worst = sorted(increases(refs), reverse=True)[: min(cached, scored)]
        asked.pop()
        assert len(seen[step]) == min(cached, scored)
        assert seen[step] <= set(refs)
        assert sorted(float(hash(ref) % 97) for ref in seen[step]) == sorted(worst)


def test_every_cached_frame_is_rehearsed_equally_often():
    sampler = MaxInterference().for_task(MEMORY, CURRENT, STREAM, MadeUpProbe())
    drawn = list(sampler.next(32, 0))
    assert sorted(drawn.count(frame) for frame in set(drawn)) == [4] * 8


def test_the_weights_of_a_cache_are_its_share_of_every_bucket():
    lost = set(MEMORY.buckets[4].frames)

    def increases(refs):
        return np.array([float(ref in lost) for ref in refs])

    draw = MaxInterference(num_candidates=36, num_cached=6)
    sampler = draw.for_task(MEMORY, CURRENT, STREAM, MadeUpProbe(increases=increases))
    np.testing.assert_allclose(sampler.weights(), 1 / 6)
    assert set(sampler.next(32, 0)) == lost
    np.testing.assert_array_equal(sampler.weights(), [0, 0, 0, 0, 1, 0])
    np.testing.assert_array_equal(sampler.priorities, [0, 0, 0, 0, 1, 0])
    assert (sampler.passes.forward, sampler.passes.backward, sampler.passes.frames) == (3, 1, 72)


def test_routing_recovers_from_a_prior_that_names_the_wrong_phase():
    draw = Adaptive(prior=Routed(temperature=0.0, uniform_share=0.0), uniform_share=0.2)
    prior = draw.prior.for_task(MEMORY, CURRENT, STREAM, ONES).weights()
    wrong = int(prior.argmax())
    right = (wrong + 3) % 6
    sampler = draw.for_task(MEMORY, CURRENT, STREAM, Forgetting(right))
    shares = []
    for step in range(0, 501, 50):
        drawn = sampler.next(2000, step)
        shares.append([sum(f in MEMORY.buckets[b].frames for f in drawn) for b in (wrong, right)])
    assert prior[wrong] == 1
    assert shares[0][0] > 0.75 * 2000
    assert shares[1][0] < shares[0][0]
    assert shares[-1][1] > 0.6 * 2000
    assert shares[-1][0] < 0.2 * 2000
    assert sampler.passes.forward == 11
    assert sampler.passes.frames == 11 * 6 * 4


def test_where_nothing_is_lost_the_measured_part_is_uniform():
    draw = Adaptive(prior_measurements=0.0, measure_every=10, uniform_share=0.0)
    sampler = draw.for_task(MEMORY, CURRENT, STREAM, Forgetting())
    sampler.next(8, 0)
    drawn = [ref for step in range(10, 20) for ref in sampler.next(600, step)]
    counts = [sum(ref in bucket.frames for ref in drawn) for bucket in MEMORY.buckets]
    assert min(counts) > 850


def test_before_the_first_measurement_adaptive_routing_is_routing():
    adaptive = Adaptive().for_task(MEMORY, CURRENT, STREAM, ONES)
    routed = Routed().for_task(MEMORY, CURRENT, STREAM, ONES)
    assert adaptive.next(32, 0) == routed.next(32, 0)
    np.testing.assert_allclose(adaptive.weights(), routed.weights())


def test_a_phase_of_fewer_frames_than_probes_is_asked_about_all_of_them():
    memory = kept(3, 3)
    sampler = Adaptive(probes_per_phase=5).for_task(memory, CURRENT, STREAM, ONES)
    sampler.next(4, 0)
    assert sampler.passes.frames == 6


@pytest.mark.parametrize(
    "draw", [MaxInterference(refreshes_per_task=20), Adaptive(measure_every=5)]
)
def test_a_step_whose_measurement_is_unknown_is_refused(draw):
    sampler = draw.for_task(MEMORY, CURRENT, STREAM, ONES)
    with pytest.raises(BadInput, match="measured at step 5, which is not known; resume from"):
        sampler.next(8, 7)


@pytest.mark.parametrize("draw", [MaxInterference(), Adaptive()])
def test_a_policy_that_diverged_is_one_line(draw):
    def nothing(refs):
        return np.full(len(refs), np.nan)

    probe = MadeUpProbe(losses=nothing, increases=nothing)
    with pytest.raises(BadInput, match="diverged"):
        draw.for_task(MEMORY, CURRENT, STREAM, probe).next(8, 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MaxInterference(refreshes_per_task=0),
        lambda: MaxInterference(num_cached=0),
        lambda: MaxInterference(num_cached=17),
        lambda: MaxInterference(learning_rate=0.0),
        lambda: MaxInterference(learning_rate=float("nan")),
        lambda: Adaptive(measure_every=0),
        lambda: Adaptive(probes_per_phase=0),
        lambda: Adaptive(prior_measurements=-1.0),
        lambda: Adaptive(uniform_share=1.5),
    ],
)
def test_settings_that_make_no_sense_are_refused(make):
    with pytest.raises(BadInput, match="expected"):
        make()
