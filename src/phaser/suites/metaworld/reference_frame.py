"""A reference frame whose hash tells if this machine draws what the demonstrations show."""

from __future__ import annotations

from functools import cache

from phaser.suites.frame_hash import hash_of
from phaser.suites.metaworld.env import MetaWorldEnv
from phaser.suites.metaworld.seeds import SEEDS
from phaser.suites.metaworld.tasks import task_named

REFERENCE_TASK = "drawer-open"


@cache
def reference_hash() -> str:
    """Hash of both cameras at one fixed initial state, drawn once per process."""
    env = MetaWorldEnv(task_named(REFERENCE_TASK))
    try:
        return hash_of(env.reset(SEEDS["train"][0]).images)
    finally:
        env.close()
