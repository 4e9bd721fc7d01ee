"""When a gripper closes or opens for good: the events at which one phase ends and another begins.

Binary commands change in one step. Those of a leader arm rise over many, so a command counts as
closed from three fifths of its range on and as open below two fifths, and the event is where it
began to move. A flicker, shorter than the suppression window, is no event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float

from phaser.core.demonstration import Demo
from phaser.phases.signals import SignalRules, gripper_levels

_CLOSED, _OPEN = 0.6, 0.4
_MOVING = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class GripperEvent:
    """A step at which the gripper begins to close, or to open, and stays so."""

    step: int
    closes: bool


def gripper_events(demo: Demo, rules: SignalRules) -> tuple[GripperEvent, ...]:
    """The events of all gripper dimensions in order of time, a suppression window apart."""
    found = [event for levels in gripper_levels(demo, rules).T for event in _events(levels, rules)]
    apart: list[GripperEvent] = []
    for event in sorted(found, key=lambda one: (one.step, one.closes)):
        if not apart or event.step - apart[-1].step >= rules.suppression_window:
            apart.append(event)
    return tuple(apart)


def directions(events: Sequence[GripperEvent]) -> tuple[bool, ...]:
    """Which of the events close, in order: what demonstrations of one task have in common."""
    return tuple(one.closes for one in events)


def _events(levels: Float[np.ndarray, "frames"], rules: SignalRules) -> Iterator[GripperEvent]:
    """Changes between states that last; a lasting state begins where the one before was left."""
    closed = _closed(levels)
    changes = np.flatnonzero(closed[1:] != closed[:-1]) + 1
    edges = [0, *changes.tolist(), len(levels)]
    state, left_at, earliest = bool(closed[0]), edges[1], 1
    for start, stop in pairwise(edges[1:]):
        # What the end of the demonstration cuts off may be short.
        if stop - start < rules.suppression_window and stop < len(levels):
            continue
        if closed[start] != state:
            state = bool(closed[start])
            step = _onset(levels, left_at, earliest)
            yield GripperEvent(step=step, closes=state)
            earliest = step + rules.suppression_window
        left_at = stop


def _closed(levels: Float[np.ndarray, "frames"]) -> Bool[np.ndarray, "frames"]:
    """Between the two thresholds the gripper stays what it was."""
    decided = (levels >= _CLOSED) | (levels <= _OPEN)
    decided[0] = True
    latest = np.maximum.accumulate(np.where(decided, np.arange(len(levels)), 0))
    return np.asarray(levels[latest] >= (_CLOSED + _OPEN) / 2)


def _onset(levels: Float[np.ndarray, "frames"], step: int, earliest: int) -> int:
    """Where the movement began that has reached the threshold at `step`."""
    way = np.sign(levels[step] - levels[step - 1])
    while step > earliest and way * (levels[step - 1] - levels[step - 2]) >= _MOVING:
        step -= 1
    return step
