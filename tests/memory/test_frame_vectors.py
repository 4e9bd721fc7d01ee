"""What frames are compared by: features of length one, or standardised state and action."""

from dataclasses import replace

import numpy as np
import pytest
from synthetic import prepared_task

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.memory.frame_vectors import frame_vectors
from phaser.memory.frames import frames_of_task
from phaser.memory.herding import Herding
from phaser.memory.phase_buckets import PhaseBuckets


def task_with(features):
    return replace(prepared_task(), features=features)


def some_frames(task):
    """Of the first and the third demonstration, out of order; none of the second."""
    return (
        (FrameRef("lift", 0, 9), FrameRef("lift", 0, 2)),
        (),
        (FrameRef("lift", 2, 53),),
        (),
    )


def test_features_are_scaled_to_length_one_row_by_row_in_the_order_asked_for():
    table = np.random.default_rng(0).normal(size=(4, 54, 3)).astype(np.float16)
    task = task_with(lambda demo: table[demo.index])
    asked = np.stack([table[0, 9], table[0, 2], table[2, 53]]).astype(np.float64)
    expected = asked / np.linalg.norm(asked, axis=1, keepdims=True)
    assert np.allclose(frame_vectors(task, some_frames(task)), expected, rtol=1e-12)


def test_features_of_nothing_but_zeros_stay_zeros():
    task = task_with(lambda demo: np.zeros((demo.num_frames, 2)))
    assert not frame_vectors(task, some_frames(task)).any()


def test_without_features_every_channel_has_mean_0_and_deviation_1_over_the_task():
    task = prepared_task()
    vectors = frame_vectors(task, frames_of_task(task))
    assert vectors.shape == (4 * 54, 4 + 4)
    assert not vectors[:, :4].any()  # the states of this task are all zeros
    assert np.allclose(vectors[:, 4:].mean(axis=0), 0)
    assert np.allclose(vectors[:, 4:].std(axis=0), 1)


def test_a_channel_that_never_changes_says_nothing_though_its_mean_is_rounded():
    task = prepared_task()
    demos = tuple(replace(demo, states=np.full((54, 4), 0.1)) for demo in task.demos)
    constant = replace(task, demos=demos)
    frames = frames_of_task(task)
    assert np.array_equal(frame_vectors(constant, frames), frame_vectors(task, frames))


@pytest.mark.parametrize("rule", [Herding(), PhaseBuckets(within="spread")])
def test_the_unit_of_a_channel_does_not_change_what_is_kept(rule):
    task = prepared_task()
    unit = np.array([1000.0, 0.001, 1.0, 1.0])
    demos = tuple(replace(demo, actions=demo.actions * unit) for demo in task.demos)
    first, other = (
        [bucket.frames for bucket in rule.select(one, 20, Streams(0).named("keep"))]
        for one in (task, replace(task, demos=demos))
    )
    assert first == other


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (lambda demo: np.zeros((53, 2)), r"0 of 'lift' has 54 frames, its features shape \(53, 2"),
        (lambda demo: np.full((54, 2), np.nan), "features of task 'lift' hold NaN or infinity"),
    ],
)
@pytest.mark.parametrize("rule", [Herding(), PhaseBuckets(within="spread")])
def test_features_that_cannot_be_right_are_refused(rule, features, message):
    with pytest.raises(BadInput, match=message):
        rule.select(task_with(features), 20, Streams(0).named("keep"))
