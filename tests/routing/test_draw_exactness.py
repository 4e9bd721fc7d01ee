"""Draws are the same bits as ever, cost what they must, and split among ranks without overlap."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weighted_samplers import sampler_of

from phaser.core.frame_refs import FrameRefs
from phaser.core.streams import Streams
from phaser.replay.ranks import Ranks


def as_first_released(sampler, count, step):
    """The draw as it was first written: a new generator and a new cumulative sum every time."""
    rng = sampler.stream.at_step(step)
    cumulative = np.cumsum(sampler.probabilities)
    chosen = np.searchsorted(cumulative / cumulative[-1], rng.random(count), side="right")
    inside = rng.random(count)
    frames = [sampler.buckets[bucket].frames for bucket in chosen]
    return [one[int(at * len(one))] for one, at in zip(frames, inside, strict=True)]


@pytest.mark.parametrize("lazy", [False, True])
@settings(max_examples=60, deadline=None)
@given(
    shape=st.lists(
        st.tuples(st.integers(1, 40), st.floats(0, 1) | st.just(0.0)), min_size=1, max_size=12
    ),
    count=st.integers(0, 70),
    step=st.integers(0, 2**40),
    seed=st.integers(0, 2**40),
)
def test_drawn_frames_are_those_of_the_first_release(lazy, shape, count, step, seed):
    sizes, weights = zip(*shape, strict=True)
    weights = [weight + (sum(weights) == 0) for weight in weights]
    sampler = sampler_of(sizes, weights, stream=Streams(seed).named("draw"), lazy=lazy)
    drawn = sampler.next(count, step)
    assert drawn == as_first_released(sampler, count, step)
    assert all(type(ref.demo) is type(ref.frame) is int for ref in drawn)


def test_a_draw_neither_sums_the_weights_again_nor_walks_the_stored_frames(monkeypatch):
    sampler = sampler_of([1000] * 4, [1, 2, 3, 4], lazy=True)
    expected = as_first_released(sampler, 32, 1)
    monkeypatch.setattr(np, "cumsum", None)
    monkeypatch.setattr(FrameRefs, "__iter__", None)
    assert sampler.next(32, 1) == expected


def test_threads_that_draw_at_once_do_not_disturb_each_other():
    sampler = sampler_of([30] * 50, np.arange(1, 51))
    expected = [as_first_released(sampler, 64, step) for step in range(200)]
    drawn = {}

    def draw(worker):
        drawn[worker] = [sampler.next(64, step) for step in range(200)]

    threads = [threading.Thread(target=draw, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(drawn[worker] == expected for worker in range(4))


@pytest.mark.parametrize("world_size", [1, 2, 3])
@settings(max_examples=25, deadline=None)
@given(count=st.integers(0, 64), step=st.integers(0, 1000))
def test_ranks_take_disjoint_slices_whose_union_is_the_global_draw(world_size, count, step):
    alone = sampler_of([5] * 8, np.arange(1, 9)).next(count, step)
    ranks = [Ranks(rank=rank, world_size=world_size) for rank in range(world_size)]
    # Every rank has its own sampler in its own process and draws the global batch again.
    drawn = [rank.slice(sampler_of([5] * 8, np.arange(1, 9)).next(count, step)) for rank in ranks]
    places = [rank.slice(range(count)) for rank in ranks]
    assert sorted(place for taken in places for place in taken) == list(range(count))
    assert [[alone[place] for place in taken] for taken in places] == drawn
    assert max(map(len, drawn)) - min(map(len, drawn)) <= 1
