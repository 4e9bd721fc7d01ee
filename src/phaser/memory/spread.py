"""Choose frames evenly over progress, each from another demonstration, or uniformly at random."""

from __future__ import annotations

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.memory.frames import DemoFrames


def random_frames(available: DemoFrames, count: int, rng: np.random.Generator) -> list[FrameRef]:
    """A uniform sample without replacement."""
    pool = [frame for frames in available for frame in frames]
    _check_enough(len(pool), count)
    return [pool[position] for position in rng.choice(len(pool), size=count, replace=False)]


def even_frames(available: DemoFrames, count: int, rng: np.random.Generator) -> list[FrameRef]:
    """Frames at progress (i + 0.5) / count, demonstrations in a shuffled rotation, all distinct.

    A taken frame gives way to the nearest free one of the same demonstration, and an exhausted
    demonstration to the next in the rotation.
    """
    _check_enough(sum(len(frames) for frames in available), count)
    free = {position: list(frames) for position, frames in enumerate(available) if frames}
    rotation = [int(one) for one in rng.permutation(len(available)) if int(one) in free]
    length = {position: len(frames) for position, frames in free.items()}
    index = {frame: at for frames in available for at, frame in enumerate(frames)}
    chosen: list[FrameRef] = []
    turn = 0
    for step in range(count):
        turn %= len(rotation)
        demo = rotation[turn]
        wanted = (step + 0.5) / count * length[demo] - 0.5
        nearest = min(free[demo], key=lambda frame: (abs(index[frame] - wanted), frame))
        chosen.append(nearest)
        free[demo].remove(nearest)
        if free[demo]:
            turn += 1
        else:
            rotation.pop(turn)
    return chosen


def _check_enough(available: int, count: int) -> None:
    if count > available:
        raise BadInput(
            f"a budget of {count} frames, but the task offers {available}; "
            "lower the budget or record more demonstrations"
        )
