"""A step's frames are distinct, and every bucket comes as often as its weight says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weighted_samplers import sampler_of

from phaser.core.streams import Streams
from phaser.replay.ranks import Ranks

STEPS = 4_000


def chi_square(found, expected):
    """How far counts are from what is expected, in standard deviations of the statistic."""
    freedom = len(expected) - 1
    statistic = ((found - expected) ** 2 / expected).sum()
    return (statistic - freedom) / np.sqrt(2 * freedom)


@settings(max_examples=200, deadline=None)
@given(
    shape=st.lists(
        st.tuples(st.integers(1, 40), st.floats(0, 1) | st.just(0.0)), min_size=1, max_size=12
    ),
    count=st.integers(0, 120),
    step=st.integers(0, 2**40),
    seed=st.integers(0, 2**40),
)
def test_no_frame_comes_twice_where_enough_can_be_drawn(shape, count, step, seed):
    sizes, weights = zip(*shape, strict=True)
    weights = np.array([weight + (sum(weights) == 0) for weight in weights])
    sampler = sampler_of(sizes, weights, stream=Streams(seed).named("draw"))
    drawn = list(sampler.next_distinct(count, step))
    assert len(drawn) == count
    assert list(sampler.next_distinct(count, step)) == drawn
    reachable = np.array(sizes)[sampler.probabilities > 0].sum()
    if count <= sampler.num_reachable:
        assert len(set(drawn)) == count
    else:
        assert sampler.num_reachable <= reachable
        assert drawn == sampler.next(count, step)
    met = {ref.demo for ref in drawn}
    assert all(sampler.probabilities[bucket] > 0 for bucket in met)


def test_buckets_come_by_their_weights_and_their_frames_alike():
    weights = np.array([0.05, 0.1, 0.15, 0.3, 0.4])
    sizes = [30, 25, 40, 60, 35]
    sampler = sampler_of(sizes, weights)
    count = 16
    drawn = [list(sampler.next_distinct(count, step)) for step in range(STEPS)]
    per_bucket = np.array(
        [[sum(ref.demo == bucket for ref in one) for bucket in range(5)] for one in drawn]
    )
    # In every step a bucket is met count × weight times, rounded up or down.
    assert (np.abs(per_bucket - count * weights) < 1).all()
    assert chi_square(per_bucket.sum(axis=0), STEPS * count * weights) < 3
    for bucket, size in enumerate(sizes):
        frames = np.bincount(
            [ref.frame // 2 for one in drawn for ref in one if ref.demo == bucket], minlength=size
        )
        assert abs(chi_square(frames, np.full(size, frames.sum() / size))) < 4, bucket


def test_pairs_of_frames_inside_a_bucket_are_equally_likely():
    sampler = sampler_of([6], [1.0])
    pairs = np.zeros((6, 6))
    for step in range(STEPS):
        first, second = (ref.frame // 2 for ref in sampler.next_distinct(2, step))
        pairs[first, second] += 1
    assert not pairs.diagonal().any()
    off = pairs[~np.eye(6, dtype=bool)]
    assert abs(chi_square(off, np.full(30, STEPS / 30))) < 4


def test_what_a_small_bucket_cannot_give_goes_to_the_others_by_weight():
    # Of 12 draws the first bucket would get 9.6 and holds 3; the others share the rest 1 : 3.
    sampler = sampler_of([3, 200, 200], [0.8, 0.05, 0.15])
    drawn = [list(sampler.next_distinct(12, step)) for step in range(STEPS)]
    counts = np.array(
        [[sum(ref.demo == bucket for ref in one) for bucket in range(3)] for one in drawn]
    )
    assert (counts[:, 0] == 3).all()
    assert abs(chi_square(counts[:, 1:].sum(axis=0), STEPS * np.array([2.25, 6.75]))) < 3


def test_a_step_that_asks_for_everything_gets_every_frame_once():
    sampler = sampler_of([4, 7, 9], [0.9, 0.05, 0.05])
    assert len(set(sampler.next_distinct(20, 3))) == 20


@pytest.mark.parametrize("world_size", [2, 4])
def test_ranks_share_a_step_without_a_frame_in_common_and_get_alike_parts(world_size):
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    sampler = sampler_of([20] * 4, weights)
    ranks = [Ranks(rank=rank, world_size=world_size) for rank in range(world_size)]
    seen = np.zeros((world_size, 4))
    for step in range(STEPS // 4):
        parts = [list(rank.slice(sampler.next_distinct(16, step))) for rank in ranks]
        assert len({ref for part in parts for ref in part}) == 16
        for rank, part in enumerate(parts):
            seen[rank] += np.bincount([ref.demo for ref in part], minlength=4)
    for part in seen:
        assert chi_square(part, part.sum() * weights) < 4
