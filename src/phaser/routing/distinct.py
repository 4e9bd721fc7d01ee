"""Draw the frames of a step without taking one twice, each bucket as often as its weight says.

Systematic sampling: the points (u + k) / count, with one random u for all, fall on the line of
cumulative weights, so that a bucket of weight p is met count × p times, rounded up or down, and on
average exactly so. A bucket that is met more often than it holds frames gives the excess to the
others, by their weights. Inside a bucket every set of frames is equally likely.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int64

GOLDEN = 0.6180339887498949
"""Moves u from one round to the next: no two rounds meet the same points."""


def bucket_counts(
    edges: Float[np.ndarray, "buckets"],
    sizes: Int64[np.ndarray, "buckets"],
    count: int,
    offset: float,
) -> tuple[Int64[np.ndarray, "met"], Int64[np.ndarray, "met"]]:
    """Which buckets are met and how often, never more often than they hold frames.

    edges: where each bucket ends on the line from 0 to 1.
    offset: the random u, from 0 to 1.
    """
    met = edges.searchsorted((np.arange(count) + offset) / count, side="right")
    first = np.flatnonzero(np.diff(met, prepend=-1))
    buckets, counts = met[first], np.diff(first, append=count)
    if (counts <= sizes[buckets]).all():
        return buckets, counts
    taken = np.zeros(len(sizes), np.int64)
    taken[buckets] = np.minimum(counts, sizes[buckets])
    weights = np.diff(edges, prepend=0.0)
    while (left := count - int(taken.sum())) > 0:
        # Every round fills a bucket or gives out all that is left.
        offset = (offset + GOLDEN) % 1.0
        line = np.cumsum(np.where(taken < sizes, weights, 0.0))
        points = (np.arange(left) + offset) / left * line[-1]
        more = np.bincount(line.searchsorted(points, side="right"), minlength=len(sizes))
        taken += np.minimum(more[: len(sizes)], sizes - taken)
    buckets = np.flatnonzero(taken)
    return buckets, taken[buckets]


def distinct_places(
    sizes: Int64[np.ndarray, "met"],
    counts: Int64[np.ndarray, "met"],
    generator: np.random.Generator,
) -> tuple[Int64[np.ndarray, "count"], Int64[np.ndarray, "count"]]:
    """For every bucket so many of its frames: which bucket, and the place of the frame in it."""
    full = 2 * counts > sizes
    owners = np.flatnonzero(~full).repeat(counts[~full])
    places = _by_trial(owners, sizes[owners], generator)
    if not full.any():
        return owners, places
    more_owners, more_places = _by_order(np.flatnonzero(full), sizes, counts, generator)
    return np.concatenate([owners, more_owners]), np.concatenate([places, more_places])


def _by_trial(
    owners: Int64[np.ndarray, "count"],
    sizes: Int64[np.ndarray, "count"],
    generator: np.random.Generator,
) -> Int64[np.ndarray, "count"]:
    """Draw, and draw those again that were there before: at most half of a bucket is asked for."""
    places: Int64[np.ndarray, "count"] = (generator.random(len(owners)) * sizes).astype(np.int64)
    while True:
        # One number per frame; equal ones stand side by side, in the order of their drawing.
        codes = owners * (int(sizes.max(initial=0)) + 1) + places
        order = codes.argsort(kind="stable")
        again = order[1:][codes[order[1:]] == codes[order[:-1]]]
        if not len(again):
            return places
        places[again] = (generator.random(len(again)) * sizes[again]).astype(np.int64)


def _by_order(
    full: Int64[np.ndarray, "full"],
    sizes: Int64[np.ndarray, "met"],
    counts: Int64[np.ndarray, "met"],
    generator: np.random.Generator,
) -> tuple[Int64[np.ndarray, "drawn"], Int64[np.ndarray, "drawn"]]:
    """All frames of these buckets in a random order, the first ones of each."""
    held = sizes[full]
    owners = full.repeat(held)
    starts = np.cumsum(held) - held
    places = np.arange(len(owners)) - starts.repeat(held)
    order = np.lexsort((generator.random(len(owners)), owners))
    chosen = order[places < counts[owners]]
    return owners[chosen], places[chosen]
