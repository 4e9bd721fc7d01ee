"""The torques of robosuite's operational space controller as robosuite itself has them compiled.

As it comes, robosuite compiles the heavy part of its controller with numba, whose linear algebra
rounds otherwise than numpy's in the last bit; contacts make that grow into another world. Here
robosuite's own compiled functions are called from one compiled function, with arrays that lie in
memory as robosuite's do. What robosuite leaves to numpy is left to numpy here as well: the two may
come with libraries that round differently.

Importing this imports robosuite, so it is imported late.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.suites.libero.operational_space import Array, OperationalSpace
from phaser.suites.libero.runtime import libero_envs

libero_envs(compiled=True)

import numba  # noqa: E402
from robosuite import macros  # noqa: E402
from robosuite.utils.control_utils import (  # noqa: E402
    nullspace_torques,
    opspace_matrices,
    orientation_error,
)


class CompiledSpace(OperationalSpace):
    """The same forces as its parent's but for the last bit, in a quarter of the time."""

    def __init__(self, model: Any, data: Any, *, controller: Any) -> None:
        super().__init__(model, data, controller=controller)
        self._first = int(controller.qvel_index[0])
        self._stiffness_damping = np.array([controller.kp, controller.kd], np.float64)
        self._rest_position = np.array(controller.initial_joint, np.float64)
        self._turned_now = self._rotation.reshape(3, 3)

    def _prepare_buffers(self, num_speeds: int, joints: slice) -> None:
        super()._prepare_buffers(num_speeds, joints)
        num_joints = joints.stop - joints.start
        self._hand_speed, self._wanted_now = np.zeros(6), np.zeros(6)
        self._hand_speed_parts = self._hand_speed[:3], self._hand_speed[3:]
        self._wanted_parts = self._wanted_now[:3], self._wanted_now[3:]
        self._wrench_parts = self._wrench[:3], self._wrench[3:]
        self._masses = np.zeros((3, 3), order="F"), np.zeros((3, 3), order="F")
        self._to_rest, self._torques = np.zeros(num_joints), np.zeros(num_joints)
        self._jacobian_transposed = self._jacobian.T

    def torques(self) -> Float[np.ndarray, "joints"]:
        """The torques of the joints, in an array that the next call overwrites."""
        library, model = self._library, self._model
        library.mj_jacSite(model, self._data, self._moving_linear, self._moving_angular, self._site)
        library.mj_fullM(model, self._inertia_of_all, self._inertia_numbers)
        np.dot(self._moving_linear, self._speeds, out=self._hand_speed_parts[0])
        np.dot(self._moving_angular, self._speeds, out=self._hand_speed_parts[1])
        controller, (linear_mass, angular_mass) = self._controller, self._masses
        _decoupled(
            *(self._moving, self._inertia_of_all, self._first, self._stiffness_damping),
            *(controller.goal_pos, controller.goal_ori, self._position, self._turned_now),
            *(self._hand_speed, self._rest_position, self._joint_positions, self._joint_speeds),
            *(self._jacobian, linear_mass, angular_mass, self._wanted_now, self._to_rest),
        )
        np.dot(linear_mass, self._wanted_parts[0], out=self._wrench_parts[0])
        np.dot(angular_mass, self._wanted_parts[1], out=self._wrench_parts[1])
        torques = np.dot(self._jacobian_transposed, self._wrench, out=self._torques)
        torques += self._gravity
        torques += self._to_rest
        return torques


# No fastmath: it would sum in another order.
@numba.njit(cache=macros.CACHE_NUMBA)
def _decoupled(
    moving: Array,
    inertia_of_all: Array,
    first: int,
    stiffness_damping: Array,
    goal_position: Array,
    goal_rotation: Array,
    position: Array,
    rotation: Array,
    hand_speed: Array,
    rest_position: Array,
    joint_positions: Array,
    joint_speeds: Array,
    jacobian: Array,
    linear_mass: Array,
    angular_mass: Array,
    wanted: Array,
    to_rest: Array,
) -> None:
    """Fills the last five: what the hand weighs, what is wanted of it, the pull to rest."""
    num_joints = jacobian.shape[1]
    # Transposed, so that they lie column by column: these are the types that robosuite compiles.
    linear, angular = np.empty((num_joints, 3)).T, np.empty((num_joints, 3)).T
    inertia = np.empty((num_joints, num_joints)).T
    for joint in range(num_joints):
        column = first + joint
        for axis in range(3):
            linear[axis, joint] = jacobian[axis, joint] = moving[axis, column]
            angular[axis, joint] = jacobian[3 + axis, joint] = moving[3 + axis, column]
        for other in range(num_joints):
            inertia[other, joint] = inertia_of_all[first + other, column]
    _, linear_found, angular_found, unfelt = opspace_matrices(inertia, jacobian, linear, angular)
    turn = orientation_error(goal_rotation, rotation)
    pull = nullspace_torques(inertia, unfelt, rest_position, joint_positions, joint_speeds)
    # Loops, where slices would do, compile in a fraction of the time.
    for axis in range(3):
        for other in range(3):
            linear_mass[axis, other] = linear_found[axis, other]
            angular_mass[axis, other] = angular_found[axis, other]
    for axis in range(6):
        offset = turn[axis - 3] if axis > 2 else goal_position[axis] - position[axis]
        wanted[axis] = (
            offset * stiffness_damping[0, axis] - hand_speed[axis] * stiffness_damping[1, axis]
        )
    for joint in range(num_joints):
        to_rest[joint] = pull[joint]
