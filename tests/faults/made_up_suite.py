"""A suite without a simulator: made-up demonstrations, and an env whose outcome hangs on bits.

No torch here: simulator processes import this module.
"""

import hashlib

import numpy as np

from phaser.core.demonstration import Demo
from phaser.core.policy import Observation
from phaser.core.suite import Env
from phaser.suites.metaworld.recording import LAYOUT
from phaser.suites.metaworld.suite import MetaWorld

SIZE, CAMERAS, LENGTHS = 96, ("corner", "gripper"), (12, 5, 11)
NUM_DEMOS = {"train": 2, "heldout": 1}


class Pictures:
    """Noise that is always the same."""

    def __init__(self, seed):
        self.seed = seed

    def __len__(self):
        return sum(LENGTHS)

    def read(self, frames):
        return np.stack([picture(self.seed * 1000 + frame) for frame in frames])


def picture(seed):
    small = np.random.default_rng(seed).integers(256, size=(8, 8, 3), dtype=np.uint8)
    return small.repeat(SIZE // 8, axis=0).repeat(SIZE // 8, axis=1)


class MadeUpEnv(Env):
    """Whether it is solved hangs on the last digits of the actions, so on every bit of weights."""

    def __init__(self, task):
        self.task = task

    def reset(self, seed):
        self._seed, self._state = seed, np.array([0.01 * (seed % 9), 0.6, 0.15, 0.5], np.float32)
        return self.observe()

    def step(self, action):
        self._state = self._state + 0.01 * np.asarray(action, np.float32)
        return hashlib.sha256(self._state.tobytes()).digest()[0] < 12

    def observe(self):
        shown = self._seed * 100 + int(abs(self._state[0]) * 1e5) % 97
        images = {name: picture(shown + k) for k, name in enumerate(CAMERAS)}
        return Observation(images=images, state=self._state, instruction=self.task.instruction)


class MadeUpSuite(MetaWorld):
    """Meta-World's tasks and contract; all that needs a simulator is made up."""

    __slots__ = ()

    def missing(self):
        return []

    def require(self):
        return None

    def demos(self, task, split):
        return tuple(made_up_demo(task, split, index) for index in range(NUM_DEMOS[split]))

    def images_sha256(self, task, split):
        changed = self.cache / f"{task.name}-changed"
        return hashlib.sha256(f"{task.name} {split} {changed.exists()}".encode()).hexdigest()

    def make_env(self, task):
        return MadeUpEnv(task)

    def horizon(self, task):
        return 24


def made_up_demo(task, split, index):
    """Approach, grasp, lift, with a little noise of its own."""
    seed = int(hashlib.sha256(f"{task.name} {split} {index}".encode()).hexdigest()[:6], 16)
    rng = np.random.default_rng(seed)
    means = ((1.0, 0.3, -1.0, -1.0), (0.0, 0.0, 0.0, 1.0), (0.2, 1.0, 1.0, 1.0))
    actions = np.concatenate([np.tile(m, (n, 1)) for m, n in zip(means, LENGTHS, strict=True)])
    actions[:, :3] += rng.normal(scale=0.1, size=(len(actions), 3))
    return Demo(
        task=task.name,
        index=index,
        actions=actions.astype(np.float32),
        states=np.cumsum(0.01 * actions, axis=0).astype(np.float32),
        layout=LAYOUT,
        cameras={name: Pictures(seed + k) for k, name in enumerate(CAMERAS)},
    )
