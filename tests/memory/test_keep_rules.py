"""Rules that keep frames: exact budgets, distinct frames, the right phases, repeatable."""

from functools import partial
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import prepared_task

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.memory.even import Even
from phaser.memory.herding import Herding
from phaser.memory.nothing import Nothing
from phaser.memory.phase_buckets import PhaseBuckets, Within
from phaser.memory.reservoir import Reservoir
from phaser.memory.spread import even_frames

STREAM = Streams(3).named("keep", "lift")
DRAWING = [
    Reservoir,
    Even,
    *(partial(PhaseBuckets, within=one) for one in ("even", "random", "boundary")),
]
COMPARING = [Herding, *(partial(PhaseBuckets, within=one) for one in ("spread", "herding"))]
RULES = DRAWING + COMPARING


def kept(buckets):
    return [frame for bucket in buckets for frame in bucket.frames]


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=25, deadline=None)
@given(budget=st.integers(3, 60), seed=st.integers(0, 99))
def test_a_rule_keeps_exactly_its_budget_of_distinct_frames_in_their_phases(rule, budget, seed):
    task = prepared_task()
    buckets = rule().select(task, budget, Streams(seed).named("keep"))
    frames = kept(buckets)
    assert len(frames) == len(set(frames)) == budget
    for bucket in buckets:
        assert bucket.prototype is task.prototypes[bucket.phase.index]
        for frame in bucket.frames:
            span = task.segmentations[0].phases[bucket.phase.index]
            assert span.start <= frame.frame < span.stop


@pytest.mark.parametrize("rule", COMPARING)
def test_a_rule_that_compares_frames_keeps_the_same_from_every_stream(rule):
    task = prepared_task()
    first, other = (kept(rule().select(task, 20, Streams(seed).named("keep"))) for seed in (3, 4))
    assert first == other


@pytest.mark.parametrize("rule", DRAWING)
def test_the_same_stream_keeps_the_same_frames_and_another_does_not(rule):
    task = prepared_task()
    first, again = (kept(rule().select(task, 20, STREAM)) for _ in range(2))
    other = kept(rule().select(task, 20, Streams(4).named("keep", "lift")))
    assert first == again
    assert first != other


@pytest.mark.parametrize("rule", RULES)
def test_a_budget_beyond_the_demonstrations_is_refused(rule):
    with pytest.raises(BadInput, match="1000 frames"):
        rule().select(prepared_task(), 1000, STREAM)


def test_even_frames_cover_progress_and_all_demonstrations():
    frames = kept(Even().select(prepared_task(num_demos=6), 18, STREAM))
    progress = sorted(frame.frame for frame in frames)
    assert progress == [1 + 3 * step for step in range(18)]  # (i + 0.5) / 18 of 54 frames
    assert np.bincount([frame.demo for frame in frames]).tolist() == [3] * 6


def test_even_frames_stay_distinct_when_demonstrations_run_out():
    available = (tuple(FrameRef("t", 0, at) for at in range(2)), (), (FrameRef("t", 2, 0),))
    chosen = even_frames(available, 3, np.random.default_rng(0))
    assert sorted(chosen) == [FrameRef("t", 0, 0), FrameRef("t", 0, 1), FrameRef("t", 2, 0)]


@pytest.mark.parametrize("within", get_args(Within))
def test_a_short_phase_gets_as_many_frames_as_a_long_one(within):
    rule = PhaseBuckets(within=within)
    buckets = rule.select(prepared_task(num_demos=5, lengths=(60, 4, 30)), 18, STREAM)
    assert [len(bucket.frames) for bucket in buckets] == [6, 6, 6]


def test_candidates_are_every_third_frame_from_the_start_of_the_phase():
    frames = kept(PhaseBuckets().select(prepared_task(), 21, STREAM))
    starts = {0: 0, 1: 20, 2: 24}
    segmentation = prepared_task().segmentations[0]
    offsets = {one.frame - starts[segmentation.phase_at(one.frame)] for one in frames}
    assert {offset % 3 for offset in offsets} == {0}


def test_the_zero_budget_phase_keeps_nothing_and_the_total_stays():
    buckets = PhaseBuckets(zero_phase=0).select(prepared_task(), 18, STREAM)
    assert [(one.phase.index, len(one.frames)) for one in buckets] == [(1, 8), (2, 10)]


@pytest.mark.parametrize(
    ("rule", "budget", "message"),
    [
        (PhaseBuckets(), 2, "'lift': a budget of 2 frames is smaller"),
        (PhaseBuckets(zero_phase=3), 20, "'lift': phase 3 cannot be left empty"),
    ],
)
def test_a_budget_that_does_not_fit_the_phases_names_the_task(rule, budget, message):
    with pytest.raises(BadInput, match=message):
        rule.select(prepared_task(), budget, STREAM)


def test_a_budget_beyond_the_candidates_says_how_there_are_more():
    # 54 frames of each demonstration: 7, 2 and 10 on the stride.
    with pytest.raises(BadInput, match=r"only 57 candidates; .*; one frame in 3 .*stride=1\)\)$"):
        PhaseBuckets().select(prepared_task(num_demos=3), 58, STREAM)
    assert PhaseBuckets(stride=1).select(prepared_task(num_demos=3), 58, STREAM)
    with pytest.raises(BadInput, match=r"or record more demonstrations$"):
        PhaseBuckets(stride=1).select(prepared_task(num_demos=3), 163, STREAM)


def test_stride_below_one_is_refused():
    with pytest.raises(BadInput, match="stride 0"):
        PhaseBuckets(stride=0)


def test_nothing_keeps_nothing():
    assert not Nothing().keeps_frames
    assert Nothing().select(prepared_task(), 20, STREAM) == []
