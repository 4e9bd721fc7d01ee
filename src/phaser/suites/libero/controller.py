"""One control step of LIBERO as robosuite takes it, bit for bit, in a fraction of its time.

robosuite runs all of MuJoCo's forward dynamics twice before each of the 25 substeps, with the
torques of the substep before, only to read poses. What these passes change is where the constraint
solver starts from (`qacc_warmstart`). It stops at a tolerance, so its start shows in its result,
and contacts make that grow until objects lie elsewhere. Here positions and velocities are
propagated once, and only the solver runs as often as in robosuite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.suites.libero.operational_space import OperationalSpace, consecutive
from phaser.suites.libero.runtime import robosuite_is_compiled
from phaser.suites.mujoco_library import mujoco

_HAND_NUMBERS = 6


class FastControl:
    """`domain.step` as far as `mjData` is concerned: no observations, reward or burner's light.

    The goal, the gripper's last command and whether the controller has seen the present state stay
    in robosuite's own objects, so steps of either kind may follow each other. The bits are those of
    robosuite compiled with numba, or not compiled; by default as it is in this process.
    """

    def __init__(self, domain: Any, *, compiled: bool | None = None) -> None:
        self._library = mujoco()
        self._domain = domain
        self._space_kind = _space_kind(robosuite_is_compiled() if compiled is None else compiled)
        self.reset()

    def reset(self) -> None:
        """Needed after every reset of the domain, which gives the robot a new controller."""
        domain, robot = self._domain, self._domain.robots[0]
        self._model, self._data = domain.sim.model._model, domain.sim.data._data
        _require_reproducible(domain, self._model)
        self._num_substeps = int(domain.control_timestep / domain.model_timestep)
        self._controller, self._gripper = robot.controller, robot.gripper
        self._space = self._space_kind(self._model, self._data, controller=robot.controller)
        self._weakest, self._strongest = robot.torque_limits
        self._arm = self._data.ctrl[consecutive(robot._ref_joint_actuator_indexes)]
        motors = consecutive(robot._ref_joint_gripper_actuator_indexes)
        self._fingers = self._data.ctrl[motors]
        low, high = self._model.actuator_ctrlrange[motors].T
        self._finger_middle, self._finger_reach = 0.5 * (high + low), 0.5 * (high - low)

    def step(self, action: Float[np.ndarray, "numbers"]) -> None:
        """Six numbers for the hand, in [-1, 1], and one whose sign closes or opens the gripper."""
        action = np.asarray(action, np.float64)
        if action.shape != (_HAND_NUMBERS + 1,) or not np.isfinite(action).all():
            raise BadInput(f"the action {action} is not the seven finite numbers that LIBERO takes")
        num_substeps = self._num_substeps
        goal_is_set = not self._controller.new_update
        if goal_is_set:
            # Just after a reset robosuite acts once on what its controller saw during the reset,
            # not on the initial state that was loaded since.
            self._robosuite_substep(action)
            num_substeps -= 1
        for fingers in self._finger_commands(float(action[_HAND_NUMBERS]), num_substeps):
            self._propagate()
            if not goal_is_set:
                self._set_goal(action[:_HAND_NUMBERS])
                goal_is_set = True
            torques = self._space.torques()
            np.maximum(torques, self._weakest, out=torques)
            np.minimum(torques, self._strongest, out=self._arm)
            self._fingers[:] = fingers
            self._library.mj_step2(self._model, self._data)

    def _robosuite_substep(self, action: Float[np.ndarray, "7"]) -> None:
        self._domain.sim.forward()
        self._domain._pre_action(action, True)
        self._domain.sim.step()

    def _finger_commands(self, command: float, count: int) -> Iterator[Float[np.ndarray, "2"]]:
        """With each substep the fingers are told to be a little more closed, or more open."""
        change = self._gripper.speed * float(np.sign(command))
        left, right = np.broadcast_to(self._gripper.current_action, 2).tolist()
        commands = np.empty((count, 2))
        for number in range(count):
            left = min(max(left - change, -1.0), 1.0)
            right = min(max(right + change, -1.0), 1.0)
            commands[number] = left, right
        self._gripper.current_action = np.array([left, right])
        return iter(self._finger_middle + self._finger_reach * commands)

    def _propagate(self) -> None:
        """Twice `mj_forward`; what would only be computed again is computed once."""
        library, model, data = self._library, self._model, self._data
        library.mj_step1(model, data)
        library.mj_fwdActuation(model, data)
        library.mj_fwdAcceleration(model, data)
        library.mj_fwdConstraint(model, data)
        library.mj_fwdConstraint(model, data)

    def _set_goal(self, move: Float[np.ndarray, "6"]) -> None:
        """By robosuite's own rule, which rounds turns to single precision, from the pose of now."""
        controller = self._controller
        controller.ee_pos, controller.ee_ori_mat = self._space.pose()
        # Keeps it from running the forward dynamics for the pose that it was just given.
        controller.new_update = False
        controller.set_goal(move)
        controller.new_update = True


def _space_kind(compiled: bool | None) -> type[OperationalSpace]:
    if not compiled:
        return OperationalSpace
    # Late: it compiles.
    from phaser.suites.libero.compiled_space import CompiledSpace

    return CompiledSpace


def _require_reproducible(domain: Any, model: Any) -> None:
    """Refuse whatever these torques and substeps would only resemble."""
    robot = domain.robots[0]
    controller = robot.controller
    if (kind := type(controller).__name__) != "OperationalSpaceController":
        raise _refused("controller", kind, "OperationalSpaceController")
    settings = {
        "controller": (controller.name, "OSC_POSE"),
        "impedance mode": (controller.impedance_mode, "fixed"),
        "control_delta": (controller.use_delta, True),
        "uncouple_pos_ori": (controller.uncoupling, True),
        "position interpolator": (controller.interpolator_pos, None),
        "orientation interpolator": (controller.interpolator_ori, None),
        "gripper": (type(robot.gripper).__name__, "PandaGripper"),
        "number of robots": (len(domain.robots), 1),
        "integrator": (int(model.opt.integrator), int(mujoco().mjtIntegrator.mjINT_EULER)),
    }
    for name, (found, expected) in settings.items():
        if found != expected:
            raise _refused(name, found, expected)


def _refused(name: str, found: object, expected: object) -> BadInput:
    return BadInput(
        f"fast control reproduces robosuite with {name} {expected!r}, not {found!r}; "
        "use control='robosuite'"
    )
