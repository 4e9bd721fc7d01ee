"""One LIBERO task, simulated: initial states, control steps, what is seen, whether it is solved.

The ten tasks of LIBERO-Goal are one scene with ten goals. A scene is built once per process and
serves every task in it, one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, UInt8

from phaser.core.demonstration import Task
from phaser.core.errors import BadInput, PhaserError
from phaser.suites.libero.assets import package_folder
from phaser.suites.libero.controller import FastControl
from phaser.suites.libero.init_states import init_states
from phaser.suites.libero.protocol import Protocol
from phaser.suites.libero.rotations import DOWN
from phaser.suites.libero.runtime import libero_envs, use_assets
from phaser.suites.libero.tasks import suite_of
from phaser.suites.mujoco_library import mujoco
from phaser.suites.renderer import Renderer

Control = Literal["compiled", "fast", "robosuite"]
COLLISION_GEOMS, ARM_GEOMS = 0, 2
"""Groups of geoms: what touches and is never drawn; in fast quality, what the hand cannot see."""
HAND_CAMERA = "robot0_eye_in_hand"
BEHIND_THE_HAND = ("mount0_", *(f"robot0_link{k}" for k in range(6)))


class Simulator:
    """A task of LIBERO under a protocol."""

    def __init__(
        self, task: Task, protocol: Protocol, *, assets: Path, control: Control = "compiled"
    ) -> None:
        libero_envs(compiled=control != "fast")
        self.task, self.protocol, self._control = task, protocol, control
        self.suite = suite_of(task.name)
        problem = _problem_file(self.suite, task)
        self._goal = _parsed(problem)
        self._scene = _scene(_scene_key(self._goal), problem, assets, protocol.control_hz)
        self._states = init_states(self.suite, task.name)

    @property
    def model(self) -> Any:
        return self._scene.model

    @property
    def data(self) -> Any:
        return self._scene.data

    @property
    def domain(self) -> Any:
        """LIBERO's own environment, with this task's goal."""
        return self._scene.domain

    @property
    def num_states(self) -> int:
        return len(self._states)

    def place(self, index: int) -> None:
        """The official initial state of that number, after the protocol's waiting.

        What happened before leaves no trace: soft resets forget the gripper's last command and the
        constraint solver's last solution only when they are made to.
        """
        if not 0 <= index < len(self._states):
            raise BadInput(
                f"initial state {index} of {self.task.name!r}; "
                f"expected 0 to {len(self._states) - 1}"
            )
        self._scene.take(self, self._goal)
        with _own_randomness():
            self._scene.reset(self.protocol, index)
        self._scene.load(self._states[index])
        waiting = np.array([0.0] * 6 + [self.protocol.wait_gripper])
        for _ in range(self.protocol.wait_steps):
            self._advance(waiting)

    def step(self, command: Float[np.ndarray, "7"]) -> bool:
        """One control step; whether the goal is fulfilled at its end."""
        self._scene.require(self)
        self._advance(np.clip(command, -1.0, 1.0))
        solved = bool(self.domain._check_success())
        # Lights the burner of a stove that was turned on.
        self.domain._post_process()
        return solved

    def images(self) -> dict[str, UInt8[np.ndarray, "height width 3"]]:
        self._scene.require(self)
        protocol = self.protocol
        draw = self._scene.draw
        return {camera: protocol.oriented(draw(camera, protocol)) for camera in protocol.cameras}

    def state(self) -> Float[np.ndarray, "state"]:
        """What the robot feels of itself, in the protocol's words."""
        self._scene.require(self)
        robot, data = self.domain.robots[0], self.data
        fingers = data.qpos[robot._ref_gripper_joint_pos_indexes]
        if self.protocol.state == "joints":
            return np.concatenate([data.qpos[robot._ref_joint_pos_indexes], fingers])
        position = data.site_xpos[robot.eef_site_id]
        if self.protocol.state == "pose-from-down":
            turned = data.site_xmat[robot.eef_site_id].reshape(3, 3)
            rotation = rotation_vector(turned @ DOWN.T)
        else:
            rotation = axis_angle(data.body(robot.robot_model.eef_name).xquat)
        return np.concatenate([position, rotation, fingers])

    def physics(self) -> Float[np.ndarray, "numbers"]:
        """Positions and velocities of everything, for exact comparisons."""
        return np.concatenate([self.data.qpos, self.data.qvel])

    def close(self) -> None:
        self._scene.close()

    def _advance(self, command: Float[np.ndarray, "7"]) -> None:
        if self._control == "robosuite":
            self.domain.step(command)
        else:
            self._scene.control.step(command)


class Scene:
    """A compiled model with LIBERO's environment around it; one task's episode at a time."""

    def __init__(self, domain: Any) -> None:
        self.domain = domain
        self.model, self.data = domain.sim.model._model, domain.sim.data._data
        self.control = FastControl(domain)
        self._renderer: Renderer | None = None
        self._drawing: tuple[int, bool] | None = None
        self._offsamples = int(self.model.vis.quality.offsamples)
        self._reflectance = self.model.mat_reflectance.copy()
        self._behind = [
            geom
            for geom in range(self.model.ngeom)
            if self.model.geom_group[geom] == 1
            and self.model.body(self.model.geom_bodyid[geom]).name.startswith(BEHIND_THE_HAND)
        ]
        self._holder: Simulator | None = None
        self._random_states: dict[tuple[int, int], Any] = {}

    def take(self, holder: Simulator, goal: dict[str, Any]) -> None:
        self._holder = holder
        self.domain.parsed_problem = goal
        self.domain.obj_of_interest = goal["obj_of_interest"]

    def require(self, holder: Simulator) -> None:
        """Refuse to go on with an episode in a scene that another task has taken meanwhile."""
        if self._holder is not holder:
            raise PhaserError(
                f"{holder.task.name!r} has no episode in this simulator: tasks of one scene share "
                "it, one episode at a time; place() first"
            )

    def reset(self, protocol: Protocol, index: int) -> None:
        """A soft reset with the fixtures where this episode has them."""
        if protocol.fixtures == "by-state":
            np.random.seed(protocol.seed + index)
            self.domain.reset()
            return
        known = self._random_states
        known.setdefault((protocol.seed, 0), np.random.RandomState(protocol.seed).get_state())
        first = max(done for seed, done in known if seed == protocol.seed and done <= index)
        np.random.set_state(known[protocol.seed, first])
        for done in range(first, index + 1):
            self.domain.reset()
            known[protocol.seed, done + 1] = np.random.get_state()

    def load(self, flat: Float[np.ndarray, "numbers"]) -> None:
        """Time, positions and velocities; all else is as in a simulator that was just made."""
        library = mujoco()
        library.mj_resetData(self.model, self.data)
        self.domain.robots[0].gripper.current_action = np.zeros(self.domain.robots[0].gripper.dof)
        self.domain.sim.set_state_from_flattened(flat)
        library.mj_forward(self.model, self.data)
        self.domain._check_success()
        self.domain._post_process()
        self.control.reset()

    def draw(self, camera: str, protocol: Protocol) -> UInt8[np.ndarray, "height width 3"]:
        """What a camera sees, upright; fast quality costs a sixth of the official one."""
        fast = protocol.quality == "fast"
        if self._drawing != (protocol.image_size, fast):
            self.close()
            self._drawing = protocol.image_size, fast
            self._simplify(fast)
            without = ("SHADOW", "REFLECTION") if fast else ()
            size = protocol.image_size
            self._renderer = Renderer(self.model, self.data, size=size, without=without)
        assert self._renderer is not None
        behind = (ARM_GEOMS,) if fast and camera == HAND_CAMERA else ()
        return self._renderer.draw(camera, hidden=(COLLISION_GEOMS, *behind))

    def _simplify(self, fast: bool) -> None:
        """Physics reads none of what is changed here."""
        model = self.model
        model.vis.quality.offsamples = 0 if fast else self._offsamples
        model.mat_reflectance[:] = 0.0 if fast else self._reflectance
        model.geom_group[self._behind] = ARM_GEOMS if fast else 1

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
        self._renderer, self._drawing = None, None


def axis_angle(quaternion: Float[np.ndarray, "4"]) -> Float[np.ndarray, "3"]:
    """Of a quaternion w x y z, with its sign as it comes: jumps where w crosses zero's far side."""
    w, vector = np.clip(quaternion[0], -1.0, 1.0), quaternion[1:]
    sine = np.sqrt(1.0 - w * w)
    if np.isclose(sine, 0.0):
        return np.zeros(3)
    return vector * 2.0 * np.arccos(w) / sine


def rotation_vector(matrix: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "3"]:
    """The shortest turn that a rotation matrix stands for."""
    library = mujoco()
    quaternion, vector = np.zeros(4), np.zeros(3)
    library.mju_mat2Quat(quaternion, np.ascontiguousarray(matrix).ravel())
    library.mju_quat2Vel(vector, quaternion, 1.0)
    return vector


def _problem_file(suite: str, task: Task) -> Path:
    return package_folder() / "bddl_files" / suite.replace("-", "_") / f"{task.name}.bddl"


def _parsed(problem: Path) -> dict[str, Any]:
    libero_envs()
    from libero.libero.envs.bddl_utils import robosuite_parse_problem

    found: dict[str, Any] = robosuite_parse_problem(str(problem))
    return found


def _scene_key(goal: dict[str, Any]) -> str:
    """Equal where only the goal and its words differ."""
    about_goal = ("goal_state", "language_instruction", "language", "obj_of_interest")
    return repr({name: goal[name] for name in sorted(goal) if name not in about_goal})


@lru_cache(maxsize=4)
def _built(key: str, assets: Path, control_hz: int) -> list[Scene]:
    return []


def _scene(key: str, problem: Path, assets: Path, control_hz: int) -> Scene:
    built = _built(key, assets, control_hz)
    if not built:
        built.append(Scene(_domain(problem, assets, control_hz)))
    return built[0]


def _domain(problem: Path, assets: Path, control_hz: int) -> Any:
    """LIBERO's environment of a task file, without cameras: drawing is our own."""
    envs = libero_envs()
    use_assets(assets)
    import robosuite
    from libero.libero.envs.bddl_utils import get_problem_info

    kind = envs.TASK_MAPPING[get_problem_info(str(problem))["problem_name"]]
    with _own_randomness():
        np.random.seed(0)
        domain = kind(
            str(problem),
            robots=["Panda"],
            controller_configs=robosuite.load_controller_config(default_controller="OSC_POSE"),
            initialization_noise=None,
            use_camera_obs=False,
            has_offscreen_renderer=False,
            ignore_done=True,
            control_freq=control_hz,
        )
    domain.hard_reset = False
    return domain


@contextmanager
def _own_randomness() -> Iterator[None]:
    """LIBERO draws from numpy's global state; nobody else's draws may change by it."""
    before = np.random.get_state()
    try:
        yield
    finally:
        np.random.set_state(before)
