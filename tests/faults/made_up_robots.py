"""A suite of robots that are a few numbers, and that fail on request. Simulator processes import
this module, so there is no torch here."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from phaser.core.contract import Contract
from phaser.core.demonstration import ActionLayout, Task
from phaser.core.errors import UnknownName
from phaser.core.policy import Observation
from phaser.core.suite import Env, Suite
from phaser.evaluation.messages import Job

TASKS = tuple(Task(name=name, instruction=f"{name} the cup") for name in ("push", "lift", "turn"))
CONTRACT = Contract(
    suite="robots",
    cameras=("top",),
    image_size=(4, 4),
    state=("x", "y"),
    state_centre=(0.0, 0.0),
    state_scale=(1.0, 1.0),
    action=("dx", "dy"),
    layout=ActionLayout(motion=(0, 1), gripper=()),
)
HORIZON, UNLUCKY = 40, ("lift", 2, 9)
"""The task, initial state and step at which there is trouble."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Robots(Suite):
    """`trouble` happens so many `times` in all processes together; they count in `folder`."""

    folder: Path
    trouble: str = ""
    times: int = 1
    step_s: float = 0.0
    order: str = "default"

    @property
    def contract(self):
        return CONTRACT

    @property
    def cache(self):
        return self.folder

    @property
    def has_simulator(self):
        return True

    def tasks(self):
        return TASKS

    def demos(self, task, split):
        return ()

    def make_env(self, task):
        if self.trouble == "refuse" and task.name == UNLUCKY[0]:
            raise UnknownName("robot", "arn", ["arm", "leg"])
        if task.name == "turn":
            return WatchedRobot(task, self)
        return Robot(task, self)

    def horizon(self, task):
        return HORIZON

    def jobs(self, num_states=5):
        return [
            Job(task=task, env_seed=seed, horizon=HORIZON)
            for task in TASKS
            for seed in range(num_states)
        ]


class Robot(Env):
    """Whether it succeeds hangs on every bit of every action."""

    def __init__(self, task, suite):
        self.task, self.suite = task, suite
        note(suite.folder, f"made-{task.name}")

    def reset(self, seed):
        self._seed, self._steps = seed, 0
        self._state = np.array([0.1 + 0.07 * seed, len(self.task.name) / 9])
        note(self.suite.folder, f"begun-{self.task.name}-{seed}")
        return self.observe()

    def step(self, action):
        self._steps += 1
        if (self.task.name, self._seed, self._steps) == UNLUCKY:
            self._have_trouble()
        time.sleep(self.suite.step_s)
        self._state = 3.9 * self._state * (1 - self._state) * (1 - 1e-3 * action**2)
        return bool(self._state[0] < 0.105)

    def observe(self):
        image = np.full((4, 4, 3), self._steps % 256, np.uint8)
        state = self._state.astype(np.float32)
        return Observation(images={"top": image}, state=state, instruction=self.task.instruction)

    def _have_trouble(self):
        if len(list(self.suite.folder.glob("trouble-*"))) >= self.suite.times:
            return
        note(self.suite.folder, "trouble")
        if self.suite.trouble == "crash":
            print("the arm fell off", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.suite.trouble == "hang":
            print("waiting for the arm", flush=True)
            time.sleep(600)
        elif self.suite.trouble == "raise":
            raise ValueError("joint 3 is not a number")


class WatchedRobot(Robot):
    """Knows how far it came, and whether torch came with it."""

    def milestones(self):
        return (("began", True), ("imported torch", "torch" in sys.modules), ("rests", False))


def note(folder, what):
    """A file per occurrence, so that several processes may note the same."""
    (folder / f"{what}-{os.getpid()}-{time.monotonic_ns()}").touch()


class Wobbly:
    """A policy without weights: its chunk hangs on every bit of the state and on the noise."""

    def __init__(self, *, seconds=0.0):
        self.contract, self.batches, self._seconds = {}, [], seconds

    def act(self, observations, streams):
        self.batches.append(len(observations))
        time.sleep(self._seconds)
        chunks = [
            np.sin(1e4 * seen.state) + 0.1 * stream().standard_normal((6, 2))
            for seen, stream in zip(observations, streams, strict=True)
        ]
        return np.stack(chunks)
