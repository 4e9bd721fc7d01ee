"""Herding: a direct reference gives the same frames, and their mean is close to the task's."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import prepared_task

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.memory.herding import Herding, herding_order
from phaser.memory.phase_buckets import PhaseBuckets

STREAM = Streams(0).named("keep")


def direct_herding(vectors, count):
    """Algorithm 4 of iCaRL as it is written: try every row, take the one that fits best."""
    chosen = []
    for k in range(1, count + 1):
        distance = {
            row: np.linalg.norm(
                vectors.mean(axis=0) - (vectors[row] + sum(vectors[one] for one in chosen)) / k
            )
            for row in range(len(vectors))
            if row not in chosen
        }
        chosen.append(min(distance, key=distance.__getitem__))
    return chosen


def with_features(task, seed=0, size=5):
    rng = np.random.default_rng(seed)
    table = {demo.index: rng.normal(size=(demo.num_frames, size)) for demo in task.demos}
    return replace(task, features=lambda demo: table[demo.index])


def kept(buckets):
    return sorted(frame for bucket in buckets for frame in bucket.frames)


# Of two points none is closer to their mean, so rounding would decide.
@settings(max_examples=60, deadline=None)
@given(points=st.integers(3, 40), size=st.integers(1, 8), seed=st.integers(0, 999), data=st.data())
def test_herding_equals_the_direct_reference_on_random_features(points, size, seed, data):
    vectors = np.random.default_rng(seed).normal(size=(points, size))
    count = data.draw(st.integers(0, points))
    assert herding_order(vectors, count) == direct_herding(vectors, count)


def test_among_equal_rows_the_first_is_taken_and_none_twice():
    assert herding_order(np.ones((4, 3)), 4) == [0, 1, 2, 3]
    assert herding_order(np.array([[1.0], [-1.0], [0.0], [0.0]]), 4) == [2, 3, 0, 1]


def test_the_mean_of_herded_frames_is_closer_than_that_of_random_ones():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 16))
    herded = vectors[herding_order(vectors, 12)].mean(axis=0) - vectors.mean(axis=0)
    drawn = [vectors[rng.choice(300, 12, replace=False)].mean(axis=0) for _ in range(200)]
    distances = np.linalg.norm(np.array(drawn) - vectors.mean(axis=0), axis=1)
    assert np.linalg.norm(herded) < distances.min() / 2


def test_the_rule_herds_features_of_length_one_over_the_whole_task():
    task = with_features(prepared_task())
    refs = [FrameRef("lift", demo.index, at) for demo in task.demos for at in range(54)]
    features = np.concatenate([task.features(demo) for demo in task.demos])
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    expected = sorted(refs[at] for at in direct_herding(features, 9))
    assert kept(Herding().select(task, 9, STREAM)) == expected


def test_inside_phases_each_is_herded_for_itself():
    task = with_features(prepared_task())
    buckets = PhaseBuckets(within="herding", stride=1).select(task, 9, STREAM)
    for bucket, (start, stop) in zip(buckets, [(0, 20), (20, 24), (24, 54)], strict=True):
        spans = [task.features(demo)[start:stop] for demo in task.demos]
        refs = [
            FrameRef("lift", demo.index, at) for demo in task.demos for at in range(start, stop)
        ]
        features = np.concatenate(spans)
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        assert list(bucket.frames) == sorted(refs[at] for at in direct_herding(features, 3))


@pytest.mark.parametrize("count", [1, 7])
def test_a_larger_budget_keeps_what_a_smaller_one_keeps(count):
    task = with_features(prepared_task())
    few, more = (kept(Herding().select(task, n, STREAM)) for n in (count, count + 5))
    assert set(few) < set(more)


def test_a_budget_beyond_the_task_is_refused():
    with pytest.raises(BadInput, match="a budget of 217 frames, but the task offers 216"):
        Herding().select(prepared_task(), 217, STREAM)
