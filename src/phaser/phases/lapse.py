"""A demonstration without the steps in which nothing happens, and the way back to its own steps.

People who drive a robot stand still most of the time. Phases are then found on the steps that
remain and come back in steps of the demonstration as it was: a stretch of idle steps belongs to the
phase that it interrupts or ends, and a phase begins with its first motion or gripper command.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int

from phaser.core.demonstration import Demo
from phaser.phases.by_hand import unhesitating
from phaser.phases.gripper import GripperEvent, gripper_events
from phaser.phases.signals import SignalRules, commanded_motion, gripper_levels

DropIdle = Literal["auto", "always", "never"]

MOST = 0.5
"""A demonstration with a larger share of idle steps was given by hand."""
_IDLE_SPEED = 0.05
_STRONG_QUANTILE = 0.99
_FEWEST_KEPT = 15
"""With fewer moving steps there is nothing to find phases in; the demonstration stays whole."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Lapse:
    """A demonstration without its idle steps, and to which original step each other one belongs."""

    demo: Demo
    """The demonstration itself where no step was taken out."""
    steps: Int[np.ndarray, "kept"]
    """The original step of every step that was kept."""
    taken_from: Demo
    """The demonstration as it was."""
    idle_share: float
    by_hand: bool
    """Most steps were idle, and were taken out."""
    grips: tuple[GripperEvent, ...]
    """When the gripper closes or opens for good, in steps that were kept."""

    def original(self, step: int) -> int:
        """Where a step that was kept lies in the demonstration; its end stays its end."""
        return int(self.steps[step]) if step < len(self.steps) else self.taken_from.num_frames

    def kept(self, step: int) -> int:
        """The first step that was kept at or after an original step."""
        return int(np.searchsorted(self.steps, step))

    def whole(self) -> Lapse:
        """The same demonstration with nothing taken out."""
        grips = tuple(replace(one, step=self.original(one.step)) for one in self.grips)
        return _whole(self.taken_from, self.idle_share, grips)


def lapse(demo: Demo, rules: SignalRules, *, drop_idle: DropIdle = "auto") -> Lapse:
    """Take the idle steps out of a demonstration.

    `demo` is any demonstration; `rules` say which way its gripper closes. `drop_idle` "auto" takes
    idle steps out where they are most of the steps, "always" wherever there are any, "never" none.
    """
    idle = idle_steps(demo, rules)
    grips = gripper_events(demo, rules)
    idle[[one.step for one in grips]] = False
    share = float(idle.mean())
    by_hand = share > MOST
    steps = np.flatnonzero(~idle)
    wanted = drop_idle == "always" or (drop_idle == "auto" and by_hand)
    if not wanted or not _FEWEST_KEPT <= len(steps) < demo.num_frames:
        return _whole(demo, share, grips)
    moving = _only(demo, steps)
    if by_hand:
        own = [int(np.searchsorted(steps, one.step)) for one in grips]
        moving, going = unhesitating(moving, steps, grips=own)
        steps = steps[going]
    return Lapse(
        demo=moving,
        steps=steps,
        taken_from=demo,
        idle_share=share,
        by_hand=by_hand,
        grips=tuple(replace(one, step=int(np.searchsorted(steps, one.step))) for one in grips),
    )


def _whole(demo: Demo, share: float, grips: tuple[GripperEvent, ...]) -> Lapse:
    """Nothing is taken out."""
    return Lapse(
        demo=demo,
        steps=np.arange(demo.num_frames),
        taken_from=demo,
        idle_share=share,
        by_hand=False,
        grips=grips,
    )


def idle_steps(demo: Demo, rules: SignalRules) -> Bool[np.ndarray, "frames"]:
    """Steps without motion, at which the gripper's command is what it was at the last other one.

    Without motion: at most a twentieth of the demonstration's strong motion, so that a released
    space mouse that still says a little is released.
    """
    motion = commanded_motion(demo)
    speed = np.sqrt(np.einsum("fd,fd->f", motion, motion))
    rank = int(_STRONG_QUANTILE * (len(speed) - 1))
    strong = float(np.partition(speed, rank)[rank]) or float(speed.max())
    idle = np.asarray(speed <= _IDLE_SPEED * strong)
    levels = gripper_levels(demo, rules)
    changed = np.zeros(len(idle), dtype=bool)
    changed[1:] = (levels[1:] != levels[:-1]).any(axis=1)
    other = np.maximum.accumulate(np.where(idle, 0, np.arange(len(idle))))
    last = 0
    for step in np.flatnonzero(idle & changed).tolist():
        last = max(last, int(other[step]))
        if (np.abs(levels[step] - levels[last]) >= rules.gripper_evidence).any():
            idle[step], last = False, step
    return idle


def _only(demo: Demo, kept: Int[np.ndarray, "kept"]) -> Demo:
    """The kept steps; targets become motions, which taking steps out does not add up."""
    actions = demo.actions.astype(np.float64)
    actions[:, list(demo.layout.motion)] = commanded_motion(demo)
    return replace(
        demo,
        actions=actions[kept],
        states=np.zeros((len(kept), 0)),
        layout=replace(demo.layout, convention="delta"),
        cameras={},
    )
