"""Farthest-point selection: equals brute force, covers what differs, in little memory."""

import tracemalloc

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import prepared_task

from phaser.core.streams import Streams
from phaser.memory.farthest import farthest_points
from phaser.memory.frame_vectors import frame_vectors
from phaser.memory.frames import frames_of_task
from phaser.memory.phase_buckets import PhaseBuckets


def brute_force(vectors, count):
    """All distances at once; whole numbers make them, and so the ties, exact."""
    distances = ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)
    chosen = [int(((vectors - vectors.mean(axis=0)) ** 2).sum(axis=1).argmin())] if count else []
    while len(chosen) < count:
        free = [row for row in range(len(vectors)) if row not in chosen]
        chosen.append(max(free, key=lambda row: (distances[row, chosen].min(), -row)))
    return chosen


def closest_pair(vectors):
    distances = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    return distances[~np.eye(len(vectors), dtype=bool)].min()


@settings(max_examples=60, deadline=None)
@given(points=st.integers(1, 30), size=st.integers(1, 4), seed=st.integers(0, 999), data=st.data())
def test_it_equals_brute_force_also_among_equal_points(points, size, seed, data):
    # Few values, so that points coincide; a power of two of them, so that their mean is exact.
    points = 2 ** (points.bit_length() - 1)
    vectors = np.random.default_rng(seed).integers(0, 4, size=(points, size)).astype(np.float64)
    count = data.draw(st.integers(0, points))
    found = farthest_points(vectors, count)
    assert found == brute_force(vectors, count)
    assert len(set(found)) == count


def test_as_many_points_as_there_are_clusters_find_each_of_them():
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=100, size=(6, 5))
    sizes = [100, 2, 50, 1, 30, 9]
    vectors = np.repeat(centres, sizes, axis=0) + rng.normal(size=(sum(sizes), 5))
    found = np.searchsorted(np.cumsum(sizes), farthest_points(vectors, 6), side="right")
    assert sorted(found) == [0, 1, 2, 3, 4, 5]


def test_frames_kept_by_spread_differ_more_than_those_on_a_grid():
    task, vectors = prepared_task(), {}
    available = frames_of_task(task)
    rows = frame_vectors(task, available)
    row_of = {ref: at for at, ref in enumerate(ref for refs in available for ref in refs)}
    for within in ("even", "random", "spread"):
        rule = PhaseBuckets(within=within)
        buckets = rule.select(task, 24, Streams(0).named("keep"))
        vectors[within] = [rows[[row_of[ref] for ref in one.frames]] for one in buckets]
    for phase in (0, 2):
        apart = {within: closest_pair(of_phase[phase]) for within, of_phase in vectors.items()}
        assert apart["spread"] > 1.3 * max(apart["even"], apart["random"])


def test_memory_stays_linear_in_the_number_of_points():
    vectors = np.random.default_rng(0).normal(size=(4000, 4))
    tracemalloc.start()
    farthest_points(vectors, 5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * vectors.nbytes < 4000**2
