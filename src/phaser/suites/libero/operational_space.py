"""The torques of robosuite's operational space controller, to the last bit, without its waiting.

Contacts amplify: torques that differ in the last bit end, in one expert episode of three, in
another world. So each product here has the operands, their order in memory and the order of
summation that robosuite's has; what is saved is copies, repeated look-ups by name and shape checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.suites.libraries import mujoco

_NULLSPACE_STIFFNESS = 10.0
_SMALLEST_SINGULAR_VALUE = 1e-15
"""Relative to the largest: below it numpy's pseudo-inverse takes a direction for lost."""

Vector = Float[np.ndarray, "3"]
Torques = Float[np.ndarray, "joints"]


class OperationalSpace:
    """What moves the hand to its goal, and the spare joint to where it began."""

    def __init__(self, model: Any, data: Any, *, controller: Any) -> None:
        self._library = mujoco()
        self._model, self._data, self._controller = model, data, controller
        self._site = model.site(controller.eef_name).id
        self._position = data.site_xpos[self._site]
        self._rotation = data.site_xmat[self._site]
        self._speeds = data.qvel
        joints = consecutive(controller.qvel_index)
        self._joint_speeds = data.qvel[joints]
        self._joint_positions = data.qpos[consecutive(controller.qpos_index)]
        self._gravity = data.qfrc_bias[joints]
        self._stiffness = controller.kp[:3].copy(), controller.kp[3:6].copy()
        self._damping = controller.kd[:3].copy(), controller.kd[3:6].copy()
        self._rest = np.array(controller.initial_joint)
        self._prepare_buffers(model.nv, joints)

    def _prepare_buffers(self, num_speeds: int, joints: slice) -> None:
        num_joints = joints.stop - joints.start
        self._moving = np.zeros((2, 3, num_speeds))
        self._inertia_of_all = np.zeros((num_speeds, num_speeds))
        self._moving_joints = self._moving[:, :, joints]
        self._inertia_of_joints = self._inertia_of_all[joints, joints]
        # Picking columns by a list, as robosuite does, gives arrays that lie column by column.
        self._jacobian = np.zeros((6, num_joints), order="F")
        self._linear = np.zeros((3, num_joints), order="F")
        self._angular = np.zeros((3, num_joints), order="F")
        self._inertia = np.zeros((num_joints, num_joints), order="F")
        self._identity = np.eye(num_joints)
        self._mobilities = np.zeros((2, 3, 3))
        self._wrench = np.zeros(6)
        self._nullspace_damping = np.sqrt(_NULLSPACE_STIFFNESS) * 2

    def pose(self) -> tuple[Vector, Float[np.ndarray, "3 3"]]:
        """Copies of where the hand is and how it is turned."""
        return self._position.copy(), self._rotation.reshape(3, 3).copy()

    def torques(self) -> Torques:
        """From positions and speeds that have been propagated through the model."""
        self._look()
        force, turn = self._wanted()
        inertia_inverse = np.linalg.inv(self._inertia)
        mobilities = self._mobilities
        np.dot(np.dot(self._linear, inertia_inverse), self._linear.T, out=mobilities[0])
        np.dot(np.dot(self._angular, inertia_inverse), self._angular.T, out=mobilities[1])
        linear_mass, angular_mass = _pseudo_inverse(mobilities)
        np.dot(linear_mass, force, out=self._wrench[:3])
        np.dot(angular_mass, turn, out=self._wrench[3:])
        torques = np.dot(self._jacobian.T, self._wrench)
        torques += self._gravity
        torques += self._towards_rest(inertia_inverse)
        return torques

    def _look(self) -> None:
        library = self._library
        linear, angular = self._moving
        library.mj_jacSite(self._model, self._data, linear, angular, self._site)
        library.mj_fullM(self._model, self._inertia_of_all, self._data.qM)
        self._linear[:] = self._moving_joints[0]
        self._angular[:] = self._moving_joints[1]
        self._jacobian[:3] = self._moving_joints[0]
        self._jacobian[3:] = self._moving_joints[1]
        self._inertia[:] = self._inertia_of_joints

    def _wanted(self) -> tuple[Vector, Vector]:
        """Spring and damper between the hand and its goal."""
        goal = self._controller
        linear, angular = self._moving
        force = (goal.goal_pos - self._position) * self._stiffness[0]
        force -= np.dot(linear, self._speeds) * self._damping[0]
        turn = _turned(goal.goal_ori, self._rotation) * self._stiffness[1]
        turn -= np.dot(angular, self._speeds) * self._damping[1]
        return force, turn

    def _towards_rest(self, inertia_inverse: np.ndarray) -> Torques:
        """Pulls the joints to their first position as far as the hand does not feel it."""
        mobility = np.dot(np.dot(self._jacobian, inertia_inverse), self._jacobian.T)
        hand = np.dot(inertia_inverse, self._jacobian.T).dot(_pseudo_inverse(mobility))
        unfelt = self._identity - np.dot(hand, self._jacobian)
        pull = _NULLSPACE_STIFFNESS * (self._rest - self._joint_positions)
        pull -= self._nullspace_damping * self._joint_speeds
        return np.dot(unfelt.T, np.dot(self._inertia, pull))


def _pseudo_inverse(square: Float[np.ndarray, "*stack n n"]) -> Float[np.ndarray, "*stack n n"]:
    """`np.linalg.pinv` for matrices that are almost never singular, a stack at a time."""
    left, sizes, right = np.linalg.svd(square, full_matrices=False)
    flat = sizes.ravel().tolist()
    if not min(flat) > _SMALLEST_SINGULAR_VALUE * max(flat):
        return np.linalg.pinv(square)
    scaled = (1 / sizes)[..., None] * left.swapaxes(-1, -2)
    return np.matmul(right.swapaxes(-1, -2), scaled)


def _turned(goal: Float[np.ndarray, "3 3"], rotation: Float[np.ndarray, "9"]) -> Vector:
    """Half the sum of the cross products of the hand's axes with the goal's."""
    (gxx, gyx, gzx), (gxy, gyy, gzy), (gxz, gyz, gzz) = goal.tolist()
    xx, yx, zx, xy, yy, zy, xz, yz, zz = rotation.tolist()
    return np.array(
        [
            0.5 * ((xy * gxz - xz * gxy) + (yy * gyz - yz * gyy) + (zy * gzz - zz * gzy)),
            0.5 * ((xz * gxx - xx * gxz) + (yz * gyx - yx * gyz) + (zz * gzx - zx * gzz)),
            0.5 * ((xx * gxy - xy * gxx) + (yx * gyy - yy * gyx) + (zx * gzy - zy * gzx)),
        ]
    )


def consecutive(indices: Sequence[int]) -> slice:
    """Joints or motors that are neighbours, as the span they take; views of it cost nothing."""
    span = slice(int(indices[0]), int(indices[-1]) + 1)
    if list(range(span.start, span.stop)) != [int(index) for index in indices]:
        raise BadInput(f"the robot's parts are numbered {list(indices)}; expected neighbours")
    return span
