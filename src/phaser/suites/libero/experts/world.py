"""What a scripted expert sees of the simulator: poses and joints by LIBERO's own names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

Vector = Float[np.ndarray, "3"]
Rotation = Float[np.ndarray, "3 3"]

HAND = "gripper0_grip_site"
"""The point between the finger tips."""


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Positions in metres in the world's frame (z up; the robot looks along +x); only read."""

    model: Any
    data: Any

    @property
    def hand(self) -> Vector:
        return self.site(HAND)

    @property
    def hand_rotation(self) -> Rotation:
        return self.data.site(HAND).xmat.reshape(3, 3).copy()

    @property
    def gap(self) -> float:
        """How far apart the fingers are: 0.08 open, 0 when closed on nothing."""
        return self.joint("gripper0_finger_joint1") - self.joint("gripper0_finger_joint2")

    def position(self, thing: str) -> Vector:
        """The origin of a movable object, such as "plate_1"."""
        return self.body(f"{thing}_main")

    def rotation(self, thing: str) -> Rotation:
        return self.data.body(f"{thing}_main").xmat.reshape(3, 3).copy()

    def body(self, name: str) -> Vector:
        """The origin of any body, such as a part of a fixture."""
        return self.data.body(name).xpos.copy()

    def site(self, name: str) -> Vector:
        return self.data.site(name).xpos.copy()

    def joint(self, name: str) -> float:
        return float(self.data.joint(name).qpos[0])

    def collision_centre(self, body: str, index: int) -> Vector:
        """The centre of one of a body's collision shapes (negative: from the last)."""
        owner = self.model.body(body).id
        shapes = np.flatnonzero((self.model.geom_bodyid == owner) & (self.model.geom_group == 0))
        return self.data.geom_xpos[shapes[index]].copy()


Position = Callable[[World], Vector]
Direction = Callable[[World], Rotation]
Condition = Callable[[World], bool]


def vector(x: float, y: float, z: float) -> Vector:
    return np.array([x, y, z], float)


def at(thing: str, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Position:
    """A movable object's origin, wherever it is, and an offset in the world's frame."""
    return lambda world: world.position(thing) + vector(x, y, z)


def within(thing: str, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Position:
    """A point of a movable object, given in the object's own frame: it turns with the object."""
    return lambda world: world.position(thing) + world.rotation(thing) @ vector(x, y, z)


def at_site(name: str, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Position:
    """A site, such as the region of a fixture, and an offset in the world's frame."""
    return lambda world: world.site(name) + vector(x, y, z)


def at_body(name: str, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Position:
    """A part of a fixture and an offset in the world's frame."""
    return lambda world: world.body(name) + vector(x, y, z)


def turn(axis: Vector, angle: float) -> Rotation:
    """The rotation about an axis by an angle in radians (Rodrigues)."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def rotation_vector(rotation: Rotation) -> Vector:
    """Axis times angle of a rotation; zero for none (and, by choice, for half a turn)."""
    angle = np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1, 1))
    axis = np.array(
        [
            rotation[2, 1] - rotation[1, 2],
            rotation[0, 2] - rotation[2, 0],
            rotation[1, 0] - rotation[0, 1],
        ]
    )
    length = np.linalg.norm(axis)
    return np.zeros(3) if length < 1e-9 else axis / length * angle


DOWN: Rotation = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""The hand points down and its fingers open along y."""


def down(world: World) -> Rotation:
    return DOWN


def facing(*, yaw: float = 0.0, lean: float = 0.0) -> Direction:
    """Hand turned about the vertical by `yaw`, then leant about x: `lean` > 0 moves the palm to +y.

    A lean of a quarter turn lets the fingers point to −y and open vertically.
    """
    rotation = turn(vector(1, 0, 0), -lean) @ turn(vector(0, 0, 1), yaw) @ DOWN
    return lambda world: rotation
