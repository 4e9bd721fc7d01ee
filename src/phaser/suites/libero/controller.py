"""One control step of LIBERO as robosuite takes it, bit for bit, at a fraction of its time.

robosuite runs the whole of MuJoCo's forward dynamics twice before each of the 25 substeps, with the
torques of the substep before, only to read poses from it. What these passes change is the constraint
solver's starting point (`qacc_warmstart`): the solver stops at a tolerance, so where it starts shows
in its result, and contacts make it grow. Here positions and velocities are propagated once, and only
the solver runs again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.suites.libero.operational_space import OperationalSpace
from phaser.suites.libraries import mujoco

_HAND_DIMENSIONS = 6
_REMEDY = "step this simulator with robosuite's own controller instead: control='robosuite'"


class FastControl:
    """`domain.step`, as far as `mjData` is concerned; observations and rewards are left out.

    The goal, the gripper's last command and whether the controller has seen the present state stay
    in robosuite's own objects, so that steps of either kind may follow each other.
    """

    def __init__(self, domain: Any) -> None:
        self._domain = domain
        self.reset()

    def reset(self) -> None:
        """Needed after every reset of the domain, which gives the robot a new controller."""
        domain = self._domain
        _require_known(domain)
        self._model, self._data = domain.sim.model._model, domain.sim.data._data
        self._robot = domain.robots[0]
        self._controller, self._gripper = self._robot.controller, self._robot.gripper
        self._num_substeps = int(domain.control_timestep / domain.model_timestep)
        self._space = OperationalSpace(
            self._model, self._data, controller=self._controller, joints=_joints(self._robot)
        )
        self._weakest, self._strongest = self._robot.torque_limits
        self._arm_control = self._data.ctrl[_run(self._robot._ref_joint_actuator_indexes)]
        fingers = _run(self._robot._ref_joint_gripper_actuator_indexes)
        self._finger_control = self._data.ctrl[fingers]
        closed, opened = self._model.actuator_ctrlrange[fingers].T
        self._finger_middle, self._finger_reach = 0.5 * (opened + closed), 0.5 * (opened - closed)

    def step(self, action: Float[np.ndarray, "7"]) -> None:
        """Six numbers in [-1, 1] for the hand and one for the gripper, for one control step."""
        if len(action) != _HAND_DIMENSIONS + 1 or not np.isfinite(action).all():
            raise BadInput(f"the action {action} is not seven finite numbers")
        substeps = self._num_substeps
        if not self._controller.new_update:
            # Right after a reset robosuite acts once on what its controller saw during the reset,
            # not on the initial state that was loaded since.
            self._robosuite_substep(action)
            substeps -= 1
        else:
            self._propagate()
            self._set_goal(action)
            self._act(action)
            substeps -= 1
        for _ in range(substeps):
            self._propagate()
            self._act(action)

    def _robosuite_substep(self, action: Float[np.ndarray, "7"]) -> None:
        self._domain.sim.forward()
        self._domain._pre_action(action, True)
        self._domain.sim.step()

    def _propagate(self) -> None:
        """Twice `mj_forward`, each part of it that repeats itself done once."""
        library, model, data = mujoco(), self._model, self._data
        library.mj_step1(model, data)
        library.mj_fwdActuation(model, data)
        library.mj_fwdAcceleration(model, data)
        library.mj_fwdConstraint(model, data)
        library.mj_fwdConstraint(model, data)

    def _set_goal(self, action: Float[np.ndarray, "7"]) -> None:
        """robosuite's own rule, which rounds turns to single precision, on the pose of now."""
        controller = self._controller
        controller.ee_pos, controller.ee_ori_mat = self._space.pose()
        controller.new_update = False
        controller.set_goal(action[:_HAND_DIMENSIONS])
        controller.new_update = True

    def _act(self, action: Float[np.ndarray, "7"]) -> None:
        torques = self._space.torques()
        np.maximum(torques, self._weakest, out=torques)
        np.minimum(torques, self._strongest, out=self._arm_control)
        gripper = self._gripper
        gripper.current_action = _gripped(gripper, float(action[_HAND_DIMENSIONS]))
        self._finger_control[:] = self._finger_middle + self._finger_reach * gripper.current_action
        mujoco().mj_step2(self._model, self._data)


def _gripped(gripper: Any, command: float) -> Float[np.ndarray, "2"]:
    """The fingers' command moves a little with each substep, towards open or closed."""
    moved = gripper.current_action + np.array([-1.0, 1.0]) * gripper.speed * np.sign(command)
    return np.minimum(np.maximum(moved, -1.0), 1.0)


def _joints(robot: Any) -> slice:
    return _run(robot._ref_joint_vel_indexes)


def _run(indices: Any) -> slice:
    return slice(int(indices[0]), int(indices[-1]) + 1)


def _require_known(domain: Any) -> None:
    pass
