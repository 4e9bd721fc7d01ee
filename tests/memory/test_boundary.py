"""Frames that are denser where the phase changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import prepared_task

from phaser.core.streams import Streams
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.spread import denser_at_changes

LENGTH = 300


def kept(lengths, *, within="boundary", budget=60):
    """Progress inside each phase of the frames that are kept."""
    rule = PhaseBuckets(within=within, stride=1)
    task = prepared_task(num_demos=6, lengths=lengths)
    starts = np.cumsum([0, *lengths])
    return [
        np.array([ref.frame - starts[bucket.phase.index] for ref in bucket.frames])
        / lengths[bucket.phase.index]
        for bucket in rule.select(task, budget, Streams(0).named("keep"))
    ]


def test_frames_are_dense_at_both_ends_of_an_inner_phase_and_not_at_the_ends_of_the_task():
    first, inner, last = kept((LENGTH,) * 3)
    assert [(one < 0.1).sum() for one in (first, inner, last)] == [1, 4, 6]
    assert [(one >= 0.9).sum() for one in (first, inner, last)] == [6, 4, 1]
    for even in kept((LENGTH,) * 3, within="even"):
        assert (even < 0.1).sum() == (even >= 0.9).sum() == 2


def test_a_task_of_one_phase_keeps_the_even_grid():
    [boundary], [even] = (kept((LENGTH,), within=one) for one in ("boundary", "even"))
    assert np.array_equal(boundary, even)


def test_a_phase_of_one_frame_per_demonstration_is_kept_whole():
    counts = [len(one) for one in kept((40, 1, 40), budget=18)]
    assert counts == [6, 6, 6]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("after", [True, False])
@given(low=st.floats(0, 1), high=st.floats(0, 1))
def test_the_grid_keeps_its_order_and_its_ends(before, after, low, high):
    warp = denser_at_changes(before=before, after=after)
    assert warp(0.0) == pytest.approx(0)
    assert warp(1.0) == pytest.approx(1)
    assert warp(min(low, high)) <= warp(max(low, high))
