"""Rollouts as evaluation scripts are usually written: one process, a picture at every step, a model
that is compiled anew for every episode, pictures in MuJoCo's default quality."""

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from benchmarks.control_step import compiled_controller
from phaser.core.policy import Actor, Observation
from phaser.core.streams import Streams
from phaser.evaluation.messages import Job
from phaser.suites.libero.assets import assets_folder, package_folder
from phaser.suites.libero.init_states import init_states
from phaser.suites.libero.protocol import Protocol
from phaser.suites.libero.runtime import libero_envs, use_assets
from phaser.suites.libero.tasks import suite_of
from phaser.suites.metaworld.libraries import make_simulator
from phaser.suites.metaworld.rendering import IMAGE_SIZE
from phaser.suites.mujoco_library import mujoco

CORNER, GRIPPER = "corner2", "gripperPOV"


class NaiveMetaWorld:
    """Meta-World's own environment, and MuJoCo's own renderer for two cameras."""

    def begin(self, job: Job) -> Observation:
        self._job, self._simulator = job, make_simulator(job.task.name)
        size = IMAGE_SIZE
        self._renderer = mujoco().Renderer(self._simulator.model, size, size, max_geom=2000)
        self._simulator.seed(job.env_seed)
        state, _ = self._simulator.reset()
        return self._seen(state)

    def step(self, action: np.ndarray) -> tuple[Observation, bool]:
        state, _, _, _, outcome = self._simulator.step(np.clip(action, -1.0, 1.0))
        return self._seen(state), bool(outcome["success"] > 0.5)

    def end(self) -> None:
        self._renderer.close()

    def _seen(self, state: np.ndarray) -> Observation:
        images = {name: self._draw(name) for name in (CORNER, GRIPPER)}
        return Observation(
            images=images,
            state=state[:4].astype(np.float32),
            instruction=self._job.task.instruction,
        )

    def _draw(self, camera: str) -> np.ndarray:
        self._renderer.update_scene(self._simulator.data, camera=camera)
        picture: np.ndarray = self._renderer.render().copy()
        return picture


class NaiveLibero:
    """LIBERO's own `OffScreenRenderEnv` with its defaults, compiled controller included."""

    def __init__(self, protocol: Protocol) -> None:
        libero_envs()
        self._protocol = protocol
        self._compiled = compiled_controller()
        self._envs: dict[str, Any] = {}

    def begin(self, job: Job) -> Observation:
        self._job, self._env = job, self._env_of(job)
        with self._as_it_comes():
            self._env.seed(self._protocol.seed + job.env_seed)
            self._env.reset()
            states = init_states(suite_of(job.task.name), job.task.name)
            seen = self._env.set_init_state(states[job.env_seed])
            waiting = [0.0] * 6 + [self._protocol.wait_gripper]
            for _ in range(self._protocol.wait_steps):
                seen, _, _, _ = self._env.step(waiting)
        return self._seen(seen)

    def step(self, action: np.ndarray) -> tuple[Observation, bool]:
        with self._as_it_comes():
            seen, _, done, _ = self._env.step(self._protocol.command(action))
        return self._seen(seen), bool(done)

    def end(self) -> None:
        """The next episode's reset throws the model away."""

    def _as_it_comes(self) -> AbstractContextManager[None]:
        made: AbstractContextManager[None] = self._compiled()
        return made

    def _env_of(self, job: Job) -> Any:
        name, suite = job.task.name, suite_of(job.task.name)
        if name not in self._envs:
            from libero.libero.envs import OffScreenRenderEnv

            use_assets(assets_folder(suite))
            folder = package_folder() / "bddl_files" / suite.replace("-", "_")
            size = self._protocol.image_size
            self._envs[name] = OffScreenRenderEnv(
                bddl_file_name=str(folder / f"{name}.bddl"), camera_heights=size, camera_widths=size
            )
        return self._envs[name]

    def _seen(self, seen: dict[str, Any]) -> Observation:
        images = {camera: seen[f"{camera}_image"] for camera in self._protocol.cameras}
        state = np.concatenate([seen["robot0_eef_pos"], seen["robot0_gripper_qpos"]])
        return Observation(
            images=images,
            state=state.astype(np.float32),
            instruction=self._job.task.instruction,
        )


def naive_rollouts(
    policy: Actor, world: NaiveMetaWorld | NaiveLibero, jobs: list[Job], streams: Streams
) -> int:
    """One episode after the other; how many were solved."""
    successes = 0
    for job in jobs:
        seen, steps, success = world.begin(job), 0, False
        while not success and steps < job.horizon:
            noise = streams.named("act", job.task.name, job.env_seed, steps)
            for action in policy.act([seen], [noise])[0]:
                seen, success = world.step(action)
                steps += 1
                if success or steps == job.horizon:
                    break
        successes += success
        world.end()
    return successes
