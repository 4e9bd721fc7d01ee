"""Follows a task's moves step by step: the action and the name of the stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.errors import UnknownName
from phaser.suites.libero.experts.goal import GOAL
from phaser.suites.libero.experts.long import LONG
from phaser.suites.libero.experts.moves import OPEN, Move
from phaser.suites.libero.experts.world import Vector, World, rotation_vector

EXPERTS: dict[str, Callable[[World], list[Move]]] = {**GOAL, **LONG}
"""The moves of each task that has a scripted expert, from a first look at its world."""

METRES_PER_COMMAND, RADIANS_PER_COMMAND = 0.05, 0.5
"""What robosuite's OSC_POSE controller makes of a command of 1."""

GAIN, GAIN_ANGLE, FASTEST_TURN = 2.5, 1.5, 0.6
"""Commands aim beyond the target, since the arm covers only part of a command in one step."""


class Expert:
    """Decides from what it sees; its only memory is which move it is in, since when and where to.

    Made after the world was placed; to be asked once per control step.
    """

    def __init__(self, task: str, model: Any, data: Any) -> None:
        if task not in EXPERTS:
            raise UnknownName("task with a scripted expert", task, EXPERTS)
        self._world = World(model, data)
        self._moves = EXPERTS[task](self._world)
        self._begin(0)

    def decide(self) -> tuple[Float[np.ndarray, "7"], str]:
        """The command (six motions and the gripper, all within ±1) and the stage's name."""
        while self._index < len(self._moves) and self._is_done():
            self._begin(self._next())
        if self._index == len(self._moves):
            last = self._moves[-1].grip if self._moves else OPEN
            return np.array([0, 0, 0, 0, 0, 0, last], float), "hold"
        self._steps += 1
        return self._command(), self._move.stage

    @property
    def _move(self) -> Move:
        return self._moves[self._index]

    def _begin(self, index: int) -> None:
        while index < len(self._moves):
            unless = self._moves[index].unless
            if unless is None or not unless(self._world):
                break
            index += 1
        self._index, self._steps = index, 0
        fixed = index < len(self._moves) and self._moves[index].fixed
        self._fixed_target = self._moves[index].target(self._world) if fixed else None

    def _next(self) -> int:
        move = self._move
        if move.again_if is not None and move.again_if(self._world):
            earlier = (
                i for i in reversed(range(self._index)) if self._moves[i].stage == move.again_from
            )
            return next(earlier)
        return self._index + 1

    def _is_done(self) -> bool:
        move, steps = self._move, self._steps
        if steps < move.at_least:
            return False
        if steps >= move.at_most or (move.until is not None and move.until(self._world)):
            return True
        distance, angle = np.linalg.norm(self._offset()), np.linalg.norm(self._turn())
        return bool(distance < move.tolerance and angle < move.tolerance_angle)

    def _offset(self) -> Vector:
        fixed = self._fixed_target
        target = self._move.target(self._world) if fixed is None else fixed
        return target - self._world.hand

    def _turn(self) -> Vector:
        return rotation_vector(self._move.hand(self._world) @ self._world.hand_rotation.T)

    def _command(self) -> Float[np.ndarray, "7"]:
        move = self._move
        motion = GAIN * self._offset() / METRES_PER_COMMAND
        # Scaled as a whole, so that a limited speed keeps the direction.
        motion *= move.speed / max(move.speed, np.abs(motion).max())
        turn = GAIN_ANGLE * self._turn() / RADIANS_PER_COMMAND
        return np.concatenate([motion, np.clip(turn, -FASTEST_TURN, FASTEST_TURN), [move.grip]])
