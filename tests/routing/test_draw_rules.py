"""Rules that draw: pure in the step, true to their weights, quiet without a memory."""

import numpy as np
import pytest
from scipy import stats
from synthetic import prepared_task

from phaser.core.errors import BadInput
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.reservoir import Reservoir
from phaser.routing.by_loss import ByLoss
from phaser.routing.nothing import NoDraw
from phaser.routing.routed import Routed
from phaser.routing.samplers import WeightedSampler
from phaser.routing.uniform import Uniform
from phaser.testing.draw import MadeUpProbe

STREAM = Streams(5).named("draw", "third")
CURRENT = prepared_task("third", seed=9)
RULES = [Uniform(), Routed(), Routed(weigh_by_size=True), ByLoss(), ByLoss(level="phase")]


def memory_of(keep, num_frames):
    memory = Memory()
    for seed, name in enumerate(("first", "second")):
        task, stream = prepared_task(name, seed=seed), Streams(0).named("keep", name)
        memory = memory.with_buckets(keep.select(task, num_frames, stream))
    return memory


ones = MadeUpProbe(losses=lambda frames: np.ones(len(frames)))

UNEVEN = memory_of(Reservoir(), 30)
EQUAL = memory_of(PhaseBuckets(), 18)


@pytest.mark.parametrize("rule", RULES)
def test_the_frames_of_a_step_depend_on_the_stream_and_the_step_alone(rule):
    sampler = rule.for_task(UNEVEN, CURRENT, STREAM, ones)
    seventh = sampler.next(32, 7)
    sampler.next(32, 8)
    fresh = rule.for_task(UNEVEN, CURRENT, STREAM, ones)
    assert fresh.next(32, 7) == seventh
    assert fresh.next(32, 8) != seventh


@pytest.mark.parametrize("rule", RULES)
def test_draws_follow_the_weights(rule):
    sampler = rule.for_task(UNEVEN, CURRENT, STREAM, ones)
    bucket_of = {f: at for at, bucket in enumerate(UNEVEN.buckets) for f in bucket.frames}
    drawn = [bucket_of[frame] for step in range(40) for frame in sampler.next(100, step)]
    counts = np.bincount(drawn, minlength=len(UNEVEN.buckets))
    assert sampler.weights().sum() == pytest.approx(1)
    assert stats.chisquare(counts, sampler.weights() * 4000).pvalue > 0.001


@pytest.mark.parametrize("rule", [*RULES, NoDraw()])
def test_an_empty_memory_gives_no_frames(rule):
    sampler = rule.for_task(Memory(), CURRENT, STREAM, ones)
    assert sampler.next(32, 0) == []
    assert len(sampler.weights()) == 0


def test_no_draw_ignores_the_memory():
    assert NoDraw().for_task(UNEVEN, CURRENT, STREAM, ones).next(32, 0) == []


def test_uniform_makes_every_frame_alike_whatever_its_bucket():
    sampler = Uniform().for_task(UNEVEN, CURRENT, STREAM, ones)
    sizes = np.array([len(bucket.frames) for bucket in UNEVEN.buckets])
    np.testing.assert_allclose(sampler.weights(), sizes / 60)


def test_a_bucket_of_probability_zero_is_never_drawn():
    sampler = WeightedSampler(
        memory=EQUAL,
        probabilities=np.array([0.0, 0.5, 0.0, 0.5, 0.0, 0.0]),
        priorities=np.zeros(6),
        stream=STREAM,
    )
    allowed = {*EQUAL.buckets[1].frames, *EQUAL.buckets[3].frames}
    assert set(sampler.next(2000, 0)) == allowed


def test_probabilities_that_do_not_sum_to_one_are_refused():
    with pytest.raises(BadInput, match="sum to 1"):
        WeightedSampler(
            memory=EQUAL, probabilities=np.ones(6), priorities=np.zeros(6), stream=STREAM
        )


def test_a_whole_uniform_share_is_uniform_and_none_is_pure_routing():
    uniform = Uniform().for_task(UNEVEN, CURRENT, STREAM, ones).weights()
    whole = Routed(uniform_share=1.0).for_task(UNEVEN, CURRENT, STREAM, ones)
    pure = Routed(uniform_share=0.0).for_task(UNEVEN, CURRENT, STREAM, ones)
    half = Routed(uniform_share=0.5).for_task(UNEVEN, CURRENT, STREAM, ones)
    np.testing.assert_allclose(whole.weights(), uniform)
    np.testing.assert_allclose(half.weights(), (pure.weights() + uniform) / 2)
    np.testing.assert_allclose(
        pure.weights(), np.exp(pure.priorities / 0.25) / np.exp(pure.priorities / 0.25).sum()
    )


def test_the_maximum_over_current_phases_is_never_below_the_mean():
    highest = Routed(over_current_phases="max").for_task(EQUAL, CURRENT, STREAM, ones)
    mean = Routed(over_current_phases="mean").for_task(EQUAL, CURRENT, STREAM, ones)
    assert (highest.priorities >= mean.priorities).all()
    assert (highest.priorities > mean.priorities).any()


def test_size_counts_only_when_asked():
    flat = Routed(temperature=1e12, uniform_share=0.0)
    sized = Routed(temperature=1e12, uniform_share=0.0, weigh_by_size=True)
    sizes = np.array([len(bucket.frames) for bucket in UNEVEN.buckets])
    np.testing.assert_allclose(
        flat.for_task(UNEVEN, CURRENT, STREAM, ones).weights(), 1 / len(sizes)
    )
    np.testing.assert_allclose(
        sized.for_task(UNEVEN, CURRENT, STREAM, ones).weights(), sizes / sizes.sum()
    )


def test_a_task_with_three_times_the_loss_is_drawn_three_times_as_often():
    def probe(frames):
        return np.array([3.0 if frame.task == "first" else 1.0 for frame in frames])

    sampler = ByLoss(uniform_share=0.0).for_task(UNEVEN, CURRENT, STREAM, MadeUpProbe(losses=probe))
    tasks = np.array([bucket.phase.task for bucket in UNEVEN.buckets])
    assert sampler.weights()[tasks == "first"].sum() == pytest.approx(0.75)
    assert set(sampler.priorities) == {3.0, 1.0}


def test_by_phase_the_loss_of_each_phase_counts():
    def probe(frames):
        return np.array([2.0 if frame.frame < 20 else 1.0 for frame in frames])

    sampler = ByLoss(uniform_share=0.0, level="phase").for_task(
        EQUAL, CURRENT, STREAM, MadeUpProbe(losses=probe)
    )
    np.testing.assert_allclose(sampler.weights(), np.array([2, 1, 1, 2, 1, 1]) / 8)


def test_without_any_loss_all_tasks_count_alike():
    sampler = ByLoss().for_task(
        EQUAL, CURRENT, STREAM, MadeUpProbe(losses=lambda frames: np.zeros(len(frames)))
    )
    np.testing.assert_allclose(sampler.weights(), 1 / 6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_a_senseless_loss_is_refused(value):
    with pytest.raises(BadInput, match="diverged"):
        ByLoss().for_task(
            EQUAL, CURRENT, STREAM, MadeUpProbe(losses=lambda frames: np.full(len(frames), value))
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda: Routed(temperature=-1.0),
        lambda: Routed(temperature=float("nan")),
        lambda: Routed(uniform_share=1.5),
        lambda: Routed(language_share=-0.1),
        lambda: ByLoss(uniform_share=2.0),
        lambda: ByLoss(exponent=-1.0),
    ],
)
def test_settings_out_of_range_are_refused(make):
    with pytest.raises(BadInput, match="expected"):
        make()
