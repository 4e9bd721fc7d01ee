"""What rules keep of random tasks: uniform where promised, distinct, in their phase, on the stride.

Demonstrations differ in length and in where their phases begin, as recorded ones do.
"""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from phaser.core.demonstration import ActionLayout, Demo, Task
from phaser.core.memory import PreparedTask, Prototype
from phaser.core.ports import Keep
from phaser.core.segmentation import Segmentation
from phaser.core.streams import Streams
from phaser.memory.allocation import allocate
from phaser.memory.even import Even
from phaser.memory.frames import frames_of_task, into_buckets
from phaser.memory.herding import Herding
from phaser.memory.phase_buckets import PhaseBuckets, Within
from phaser.memory.reservoir import Reservoir
from phaser.training.frames import FrameTable, TaskFrames

LAYOUT = ActionLayout(motion=(0,), gripper=(1,))
LEAST_PVALUE = 1e-3
"""Below it a rule counts as biased; seeds are fixed, so the verdict is too."""


def task_of(lengths, *, features=False):
    """A task from the phase lengths of each demonstration; an action is (demo, frame).

    Its features, if it has any, are coarse: many frames look exactly the same.
    """
    demos, segmentations = [], []
    for position, of_demo in enumerate(lengths):
        count = sum(of_demo)
        actions = np.stack([np.full(count, 7 + position), np.arange(count)], 1).astype(np.float64)
        demos.append(
            Demo(task="t", index=7 + position, actions=actions, states=actions, layout=LAYOUT)
        )
        segmentations.append(
            Segmentation.from_boundaries(
                np.cumsum(of_demo)[:-1].tolist(),
                num_frames=count,
                labels=tuple(f"phase_{k}" for k in range(len(of_demo))),
            )
        )
    prototypes = tuple(
        Prototype(
            language=np.zeros(1), vision=np.zeros(1), action=np.full(2, float(k)), motion=(0,)
        )
        for k in range(len(lengths[0]))
    )
    return PreparedTask(
        task=Task(name="t", instruction="do t"),
        demos=tuple(demos),
        segmentations=tuple(segmentations),
        prototypes=prototypes,
        features=(lambda demo: np.cos(demo.actions // 4)) if features else None,
    )


@st.composite
def phase_lengths(draw):
    """Lengths only: making the task here would run beartype's random checks in a strategy."""
    phases = draw(st.integers(1, 4))
    of_demo = st.lists(st.integers(1, 15), min_size=phases, max_size=phases)
    return draw(st.lists(of_demo, min_size=1, max_size=5))


def kept(buckets):
    return [frame for bucket in buckets for frame in bucket.frames]


def spans_of(task, phase):
    return {
        demo.index: segmentation.phases[phase]
        for demo, segmentation in zip(task.demos, task.segmentations, strict=True)
    }


def check_buckets(task, buckets, *, budget, stride):
    frames = kept(buckets)
    assert len(frames) == len(set(frames)) == budget
    assert len({bucket.phase for bucket in buckets}) == len(buckets)
    for bucket in buckets:
        assert bucket.phase == task.phase_ids()[bucket.phase.index]
        assert bucket.prototype is task.prototypes[bucket.phase.index]
        spans = spans_of(task, bucket.phase.index)
        for frame in bucket.frames:
            span = spans[frame.demo]
            assert frame.frame in range(span.start, span.stop, stride)


@settings(max_examples=150, deadline=None)
@given(
    lengths=phase_lengths(),
    stride=st.integers(1, 5),
    within=st.sampled_from(get_args(Within)),
    features=st.booleans(),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_a_bucket_holds_distinct_frames_of_its_own_phase_on_the_stride(
    lengths, stride, within, features, seed, data
):
    task = task_of(lengths, features=features)
    num_phases = len(task.labels)
    room = [
        sum(len(range(span.start, span.stop, stride)) for span in spans_of(task, phase).values())
        for phase in range(num_phases)
    ]
    zero = data.draw(st.none() | st.integers(0, num_phases - 1)) if num_phases > 1 else None
    available = sum(room) - (0 if zero is None else room[zero])
    budget = data.draw(st.integers(num_phases - (zero is not None), available))
    rule = PhaseBuckets(stride=stride, within=within, zero_phase=zero)
    buckets = rule.select(task, budget, Streams(seed).named("keep"))
    check_buckets(task, buckets, budget=budget, stride=stride)
    counts = dict.fromkeys(range(num_phases), 0)
    counts |= {bucket.phase.index: len(bucket.frames) for bucket in buckets}
    assert list(counts.values()) == allocate(budget, room, zero=zero)


@pytest.mark.parametrize("rule", [Reservoir, Even, Herding])
@settings(max_examples=50, deadline=None)
@given(lengths=phase_lengths(), features=st.booleans(), seed=st.integers(0, 99), data=st.data())
def test_rules_without_phases_put_their_frames_into_the_right_buckets(
    rule, lengths, features, seed, data
):
    task = task_of(lengths, features=features)
    budget = data.draw(st.integers(1, sum(demo.num_frames for demo in task.demos)))
    buckets = rule().select(task, budget, Streams(seed).named("keep"))
    check_buckets(task, buckets, budget=budget, stride=1)


@settings(max_examples=40, deadline=None)
@given(lengths=phase_lengths(), chunk_length=st.integers(1, 20), data=st.data())
def test_the_chunk_of_a_kept_frame_stays_in_its_episode_and_the_mask_says_where_it_ends(
    lengths, chunk_length, data
):
    task = task_of(lengths)
    num_frames = sum(demo.num_frames for demo in task.demos)
    budget = data.draw(st.integers(1, num_frames))
    refs = kept(Reservoir().select(task, budget, Streams(0).named("keep")))
    frames = TaskFrames.of(task.demos, {}, instruction="do t", chunk_length=chunk_length)
    samples = FrameTable({"t": frames}).samples(refs)
    end_of = {demo.index: demo.num_frames for demo in task.demos}
    for ref, actions, valid in zip(refs, samples.actions, samples.valid, strict=True):
        ahead = min(chunk_length, end_of[ref.demo] - ref.frame)
        assert valid.tolist() == [True] * ahead + [False] * (chunk_length - ahead)
        assert set(actions[:, 0].tolist()) == {ref.demo}
        assert actions[:ahead, 1].tolist() == list(range(ref.frame, ref.frame + ahead))


class OffByOne(Keep):
    """A reservoir with the classic mistake: the newest frame competes for one slot too few."""

    def select(self, task, num_frames, stream):
        rng = stream()
        pool = [frame for frames in frames_of_task(task) for frame in frames]
        slots = pool[:num_frames]
        for seen, frame in enumerate(pool[num_frames:], start=num_frames):
            place = rng.integers(0, seen)
            if place < num_frames:
                slots[place] = frame
        return into_buckets(task, slots)


def times_kept(rule, num_frames, lengths, *, rounds):
    """How often each frame was kept: one row per demonstration, all of one length."""
    task = task_of(lengths)
    counts = np.zeros((len(lengths), sum(lengths[0])))
    for seed in range(rounds):
        for frame in kept(rule.select(task, num_frames, Streams(seed).named("keep"))):
            counts[frame.demo - 7, frame.frame] += 1
    return counts


def uniform_pvalue(counts, *, rounds):
    """The p-value of the hypothesis that every one of these frames is kept equally often.

    Without replacement the counts vary less than chi-square expects, by (N - n) / (N - 1) for n of
    N frames; the statistic is divided by that, so it is exact for a fair rule and keeps its power.
    """
    of_round = counts.sum() / rounds
    shrink = (counts.size - of_round) / (counts.size - 1)
    return stats.chi2.sf(stats.chisquare(counts.ravel()).statistic / shrink, df=counts.size - 1)


def test_the_reservoir_keeps_every_frame_equally_often_and_the_test_sees_a_biased_one():
    lengths = [(5, 2, 8), (3, 4, 8)]
    fair = times_kept(Reservoir(), 8, lengths, rounds=2000)
    biased = times_kept(OffByOne(), 8, lengths, rounds=2000)
    assert fair.sum() == biased.sum() == 16_000
    assert uniform_pvalue(fair, rounds=2000) > LEAST_PVALUE
    assert uniform_pvalue(biased, rounds=2000) < LEAST_PVALUE


def test_frames_chosen_at_random_inside_a_phase_are_uniform_over_its_candidates():
    rule = PhaseBuckets(stride=1, within="random")
    counts = times_kept(rule, 4, [(6, 4), (6, 4)], rounds=1000)
    for phase in (counts[:, :6], counts[:, 6:]):
        assert phase.sum() == 2000
        assert uniform_pvalue(phase, rounds=1000) > LEAST_PVALUE
    # The short phase keeps as many frames, so all frames together are not alike.
    assert uniform_pvalue(counts, rounds=1000) < LEAST_PVALUE
