"""Where, in a row of movements, a hand stops reaching for a thing and begins to act on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

from phaser.phases.verbs import Asked

Way = Float[np.ndarray, "3"]
_MOSTLY = 0.6
_STEEP = 0.8
_SAME = 0.5


def goes(way: Way, where: Literal["up", "down"]) -> bool:
    """Whether a movement goes mostly up, or mostly down."""
    height = float(way[2]) if where == "up" else -float(way[2])
    return height >= _MOSTLY * float(np.linalg.norm(way)) > 0


def first_at_work(ways: Sequence[Way | None], task: Asked, *, before: Way | None) -> int:
    """Position of the movement at which the task begins, among those after the approach.

    It is the longest movement that can be the task (upwards, if that is asked for; to the side, if
    something is pulled or turned; against the way `before`, if pulled), together with those just
    before it that go the same way. Without knowing x, y and z, all movements are the task.
    """
    known = [way for way in ways if way is not None]
    if len(known) < len(ways) or not known:
        return 0
    sizes = [_as_task(way, task, before) for way in known]
    if not any(sizes):
        return len(ways) - 1
    start = int(np.argmax(sizes))
    main = known[start]
    while start > 0 and sizes[start - 1] and _same(known[start - 1], main):
        start -= 1
    return start


def _as_task(way: Way, task: Asked, before: Way | None) -> float:
    """How far a movement goes in a way that the task can go; 0 where it cannot be the task."""
    if task.way:
        return max(0.0, float(way[2]) if task.way == "up" else -float(way[2]))
    if task.name == "press":
        return float(np.linalg.norm(way))
    side = float(np.linalg.norm(way[:2]))
    if abs(float(way[2])) > _STEEP * float(np.linalg.norm(way)):
        return 0.0
    if task.name == "pull" and before is not None and float(way[:2] @ before[:2]) >= 0:
        return 0.0
    return side


def _same(one: Way, other: Way) -> bool:
    return float(one @ other) >= _SAME * float(np.linalg.norm(one) * np.linalg.norm(other))
