"""Choose frames on a grid over progress, each from another demonstration, or at random."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.memory.frames import DemoFrames, check_enough

Warp = Callable[[float], float]
"""Where a point of the even grid goes; both are progress, from 0 to 1."""


def random_frames(available: DemoFrames, count: int, rng: np.random.Generator) -> list[FrameRef]:
    """A uniform sample without replacement."""
    pool = [frame for frames in available for frame in frames]
    check_enough(len(pool), count)
    return [pool[position] for position in rng.choice(len(pool), size=count, replace=False)]


def even_frames(
    available: DemoFrames,
    count: int,
    rng: np.random.Generator,
    *,
    warp: Warp = lambda progress: progress,
) -> list[FrameRef]:
    """Frames at progress (i + 0.5) / count, demonstrations in a shuffled rotation, all distinct.

    A taken frame gives way to the nearest free one of the same demonstration, and an exhausted
    demonstration to the next in the rotation. `warp` moves the grid's points.
    """
    check_enough(sum(len(frames) for frames in available), count)
    free = {position: list(frames) for position, frames in enumerate(available) if frames}
    rotation = [int(one) for one in rng.permutation(len(available)) if int(one) in free]
    length = {position: len(frames) for position, frames in free.items()}
    index = {frame: at for frames in available for at, frame in enumerate(frames)}
    chosen: list[FrameRef] = []
    turn = 0
    for step in range(count):
        turn %= len(rotation)
        demo = rotation[turn]
        wanted = warp((step + 0.5) / count) * length[demo] - 0.5
        nearest = min(free[demo], key=lambda frame: (abs(index[frame] - wanted), frame))
        chosen.append(nearest)
        free[demo].remove(nearest)
        if free[demo]:
            turn += 1
        else:
            rotation.pop(turn)
    return chosen


def spread_ranks(count: int) -> list[int]:
    """For every point of a grid its rank, so that the points of the lowest ranks always spread
    evenly over the grid: each next point is the middle of the largest gap."""
    ranks = [0] * count
    gaps = [(-(count + 1), -1)]
    for rank in range(count):
        length, before = heapq.heappop(gaps)
        point = before - length // 2
        ranks[point] = rank
        for start, stop in ((before, point), (point, before - length)):
            if stop - start > 1:
                heapq.heappush(gaps, (start - stop, start))
    return ranks


def denser_at_changes(*, before: bool, after: bool) -> Warp:
    """The grid of a phase that another one comes before, or after, denser towards those ends.

    Chebyshev's points, or half of them: with both, a tenth of the phase at either end holds a fifth
    of the frames. A phase that is all of its task keeps the even grid.
    """
    if before and after:
        return lambda progress: math.sin(progress * math.pi / 2) ** 2
    if before:
        return lambda progress: 1 - math.cos(progress * math.pi / 2)
    if after:
        return lambda progress: math.sin(progress * math.pi / 2)
    return lambda progress: progress
