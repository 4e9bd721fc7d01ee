"""The torques of robosuite's operational space controller, to the last bit, without its waiting.

Contacts amplify: torques that differ in the last bit end, in one expert episode of three, in
another world. So each product here has the operands, their order in memory and the order of
summation that robosuite's has. What is saved are copies, look-ups by name and shape checks, and
vectors so short that plain numbers are quicker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.suites.mujoco_library import mujoco

_REST_STIFFNESS = 10.0
_REST_DAMPING = float(np.sqrt(_REST_STIFFNESS)) * 2
_SMALLEST_SINGULAR_VALUE = 1e-15
"""Relative to the largest: below it numpy's pseudo-inverse takes a direction for lost."""

Array = np.ndarray
"""Shapes are only checked at the door: what is behind it runs 500 times per simulated second."""


class OperationalSpace:
    """What moves the hand to its goal, and the spare joint to where it began."""

    def __init__(self, model: Any, data: Any, *, controller: Any) -> None:
        self._library = mujoco()
        self._model, self._data, self._controller = model, data, controller
        self._site = model.site(controller.eef_name).id
        self._position = data.site_xpos[self._site]
        self._rotation = data.site_xmat[self._site]
        self._speeds, self._inertia_numbers = data.qvel, data.qM
        joints = consecutive(controller.qvel_index)
        self._joint_speeds = data.qvel[joints]
        self._joint_positions = data.qpos[consecutive(controller.qpos_index)]
        self._gravity = data.qfrc_bias[joints]
        self._gains = list(zip(controller.kp.tolist(), controller.kd.tolist(), strict=True))
        self._rest = np.asarray(controller.initial_joint).tolist()
        self._prepare_buffers(model.nv, joints)

    def _prepare_buffers(self, num_speeds: int, joints: slice) -> None:
        num_joints = joints.stop - joints.start
        self._moving = np.zeros((6, num_speeds))
        self._moving_linear, self._moving_angular = self._moving[:3], self._moving[3:]
        self._moving_joints = self._moving[:, joints]
        # Picking columns by a list, as robosuite does, gives arrays that lie column by column.
        self._jacobian = np.zeros((6, num_joints), order="F")
        self._linear, self._angular = self._jacobian[:3], self._jacobian[3:]
        self._inertia_of_all = np.zeros((num_speeds, num_speeds))
        self._inertia_of_joints = self._inertia_of_all[joints, joints]
        self._inertia = np.zeros((num_joints, num_joints), order="F")
        self._identity = np.eye(num_joints)
        self._mobilities = np.zeros((2, 3, 3))
        self._wrench = np.zeros(6)

    def pose(self) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3 3"]]:
        """Copies of where the hand is and how it is turned."""
        return self._position.copy(), self._rotation.reshape(3, 3).copy()

    def torques(self) -> Float[np.ndarray, "joints"]:
        """The torques of the joints, from positions and speeds propagated through the model."""
        library, model = self._library, self._model
        library.mj_jacSite(model, self._data, self._moving_linear, self._moving_angular, self._site)
        library.mj_fullM(model, self._inertia_of_all, self._inertia_numbers)
        self._jacobian[:] = self._moving_joints
        self._inertia[:] = self._inertia_of_joints
        inertia_inverse = np.linalg.inv(self._inertia)
        torques = np.dot(self._jacobian.T, self._decoupled(inertia_inverse))
        torques += self._gravity
        torques += self._towards_rest(inertia_inverse)
        return torques

    def _decoupled(self, inertia_inverse: Array) -> Array:
        """The force and the turn that a hand without inertia of its own would need."""
        linear, angular, mobilities = self._linear, self._angular, self._mobilities
        np.dot(np.dot(linear, inertia_inverse), linear.T, out=mobilities[0])
        np.dot(np.dot(angular, inertia_inverse), angular.T, out=mobilities[1])
        linear_mass, angular_mass = _pseudo_inverse(mobilities)
        wanted = self._wanted()
        np.dot(linear_mass, wanted[:3], out=self._wrench[:3])
        np.dot(angular_mass, wanted[3:], out=self._wrench[3:])
        return self._wrench

    def _wanted(self) -> Array:
        """Spring and damper between the hand and its goal."""
        goal, position = self._controller.goal_pos.tolist(), self._position.tolist()
        offsets = [wanted - found for wanted, found in zip(goal, position, strict=True)]
        offsets += _turned(self._controller.goal_ori.tolist(), self._rotation.tolist())
        speeds = np.dot(self._moving_linear, self._speeds).tolist()
        speeds += np.dot(self._moving_angular, self._speeds).tolist()
        terms = zip(self._gains, offsets, speeds, strict=True)
        return np.array([offset * kp - speed * kd for (kp, kd), offset, speed in terms])

    def _towards_rest(self, inertia_inverse: Array) -> Array:
        """Pulls the joints to their first position as far as the hand does not feel it."""
        jacobian = self._jacobian
        mobility = np.dot(np.dot(jacobian, inertia_inverse), jacobian.T)
        hand = np.dot(np.dot(inertia_inverse, jacobian.T), _pseudo_inverse(mobility))
        unfelt = self._identity - np.dot(hand, jacobian)
        joints = zip(
            self._rest, self._joint_positions.tolist(), self._joint_speeds.tolist(), strict=True
        )
        pull = [
            _REST_STIFFNESS * (rest - now) - _REST_DAMPING * speed for rest, now, speed in joints
        ]
        return np.dot(unfelt.T, np.dot(self._inertia, np.array(pull)))


def _pseudo_inverse(square: Array) -> Array:
    """`np.linalg.pinv` for matrices that are almost never singular, a stack at a time."""
    left, sizes, right = np.linalg.svd(square, full_matrices=False)
    flat = sizes.ravel().tolist()
    if not min(flat) > _SMALLEST_SINGULAR_VALUE * max(flat):
        return np.linalg.pinv(square)
    scaled = (1 / sizes)[..., None] * left.swapaxes(-1, -2)
    return np.matmul(right.swapaxes(-1, -2), scaled)


def _turned(goal: list[list[float]], rotation: list[float]) -> list[float]:
    """Half the sum of the cross products of the hand's axes with the goal's."""
    (gxx, gyx, gzx), (gxy, gyy, gzy), (gxz, gyz, gzz) = goal
    xx, yx, zx, xy, yy, zy, xz, yz, zz = rotation
    return [
        0.5 * ((xy * gxz - xz * gxy) + (yy * gyz - yz * gyy) + (zy * gzz - zz * gzy)),
        0.5 * ((xz * gxx - xx * gxz) + (yz * gyx - yx * gyz) + (zz * gzx - zx * gzz)),
        0.5 * ((xx * gxy - xy * gxx) + (yx * gyy - yy * gyx) + (zx * gzy - zy * gzx)),
    ]


def consecutive(indices: Sequence[int]) -> slice:
    """Joints or motors that are neighbours, as the span they take; views of it cost nothing."""
    span = slice(int(indices[0]), int(indices[-1]) + 1)
    if list(range(span.start, span.stop)) != [int(index) for index in indices]:
        raise BadInput(f"the robot's parts are numbered {list(indices)}; expected neighbours")
    return span
