"""How people move a robot arm by hand: in bursts, with keys, too far and back, at their own speed.

Each of these looks like a change of motion without being one. They are taken out of demonstrations
that stand still most of the time, and of no others.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int

from phaser.core.demonstration import Demo

_KEYED_SHARE, _KEY_TOLERANCE = 0.9, 0.05
_LONGEST_WAY_BACK, _REMEMBERED = 4, 3
_BACK = -0.8
_SPEED_POWER = 0.5


def unhesitating(
    demo: Demo, steps: Int[np.ndarray, "frames"], *, grips: Collection[int]
) -> tuple[Demo, Bool[np.ndarray, "frames"]]:
    """The demonstration as it was meant, and which of its steps are left.

    `demo` holds moving steps only, `steps` says when each of them was, and at `grips` the gripper
    closes or opens. Keys say a direction only
    over a whole burst, so every step of a burst gets the burst's mean. A short way back belongs to
    the phase that went too far, so it is taken out. A slow hand turns as clearly as a fast one, so
    the speed counts by its square root.
    """
    motion = demo.actions[:, list(demo.layout.motion)]
    if _keyed(motion):
        motion = _burst_means(motion, steps)
    going = ~_ways_back(motion, set(grips))
    actions = demo.actions.copy()
    actions[:, list(demo.layout.motion)] = _by_root(motion)
    return replace(demo, actions=actions[going], states=demo.states[going]), going


def _keyed(motion: Float[np.ndarray, "frames motion"]) -> bool:
    """True where nearly every step moves each dimension at full speed or not at all."""
    size = np.abs(motion)
    full = float(size.max(initial=0.0))
    if full == 0:
        return False
    pressed = (size <= _KEY_TOLERANCE * full) | (size >= (1 - _KEY_TOLERANCE) * full)
    return bool(pressed.all(axis=1).mean() >= _KEYED_SHARE)


def _burst_means(
    motion: Float[np.ndarray, "frames motion"], steps: Int[np.ndarray, "frames"]
) -> Float[np.ndarray, "frames motion"]:
    """Every step gets the mean of its burst; bursts are what idle steps lie between."""
    begins = np.flatnonzero(np.diff(steps, prepend=steps[0] - 2) > 1)
    lengths = np.diff(begins, append=len(steps))
    means = np.add.reduceat(motion, begins, axis=0) / lengths[:, None]
    return np.repeat(means, lengths, axis=0)


def _ways_back(
    motion: Float[np.ndarray, "frames motion"], grips: Collection[int]
) -> Bool[np.ndarray, "frames"]:
    """Runs of at most four steps against the motion just before, after which the hand goes on."""
    back = np.zeros(len(motion), dtype=bool)
    lengths = np.linalg.norm(motion, axis=1)
    step = 2
    while step < len(motion):
        before = np.flatnonzero(~back[max(step - _REMEMBERED, 0) : step])
        mean = motion[max(step - _REMEMBERED, 0) + before].sum(axis=0)
        against = _BACK * lengths * float(np.linalg.norm(mean))
        stop = step
        while stop < len(motion) and stop not in grips and motion[stop] @ mean < against[stop]:
            stop += 1
        if stop < len(motion) and 0 < stop - step <= _LONGEST_WAY_BACK:
            back[step:stop] = True
        step = max(stop, step + 1)
    return back


def _by_root(motion: Float[np.ndarray, "frames motion"]) -> Float[np.ndarray, "frames motion"]:
    """The same directions, at the square root of their share of the greatest speed."""
    lengths = np.linalg.norm(motion, axis=1, keepdims=True)
    share = lengths / max(float(lengths.max(initial=0.0)), 1e-300)
    return np.asarray(np.divide(motion, share**_SPEED_POWER, where=share > 0, out=motion.copy()))
