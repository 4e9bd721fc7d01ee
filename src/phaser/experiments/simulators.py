"""Simulators of this process, made once: building one costs more than a rollout."""

from __future__ import annotations

import atexit
from functools import lru_cache

from phaser.core.demonstration import Task
from phaser.suites.metaworld import MetaWorld
from phaser.suites.metaworld_env import MetaWorldEnv


@lru_cache(maxsize=64)
def simulator(suite: MetaWorld, task: Task) -> MetaWorldEnv:
    env = suite.make_env(task)
    # GL goes away with the interpreter; a renderer that outlives it ends in a traceback.
    atexit.register(env.close)
    return env
