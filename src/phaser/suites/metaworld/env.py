"""One simulated Meta-World robot: the seed decides the initial state, pixels come on demand."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Task
from phaser.core.policy import Observation
from phaser.core.suite import Env
from phaser.suites.metaworld.libraries import make_simulator
from phaser.suites.metaworld.rendering import Cameras
from phaser.suites.mujoco_library import mujoco

STATE_NAMES = ("x", "y", "z", "gripper")
ACTION_NAMES = ("dx", "dy", "dz", "gripper")


class MetaWorldEnv(Env):
    """A task in Meta-World. The policy sees two images, hand position and gripper opening."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._simulator = make_simulator(task.name)
        self._cameras = Cameras(self._simulator.model, self._simulator.data)
        self._full_state: Float[np.ndarray, "39"] = np.zeros(39)

    def reset(self, seed: int) -> Observation:
        """The initial state of a seed, whatever happened before."""
        self.place(seed)
        return self.observe()

    def place(self, seed: int) -> None:
        """Reset without drawing."""
        simulator = self._simulator
        simulator.seed(seed)
        simulator.reset()
        # Some tasks move bodies last; without this the images and the state show the old places.
        library = mujoco()
        library.mj_kinematics(simulator.model, simulator.data)
        library.mj_comPos(simulator.model, simulator.data)
        library.mj_camlight(simulator.model, simulator.data)
        simulator._get_obs()
        self._full_state = simulator._get_obs()

    def step(self, action: Float[np.ndarray, "action"]) -> bool:
        """Move for one control step (1/80 s); whether the task is solved at its end."""
        clipped = np.clip(np.asarray(action, np.float64), -1.0, 1.0)
        self._full_state, _, _, _, outcome = self._simulator.step(clipped)
        return bool(outcome["success"] > 0.5)

    def observe(self) -> Observation:
        return Observation(
            images=self._cameras.read(),
            state=self._full_state[:4].astype(np.float32),
            instruction=self.task.instruction,
        )

    @property
    def full_state(self) -> Float[np.ndarray, "39"]:
        """What the scripted expert sees: object and goal poses too. Never given to a policy."""
        return self._full_state

    def physics(self) -> Float[np.ndarray, "numbers"]:
        """Positions and velocities of everything, for exact comparisons."""
        return np.concatenate([self._simulator.data.qpos, self._simulator.data.qvel])

    def close(self) -> None:
        self._cameras.close()
