"""A reference frame whose hash says whether this machine draws what the demonstrations show."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache

import numpy as np
from jaxtyping import UInt8

from phaser.core.errors import BadInput
from phaser.suites.metaworld_env import MetaWorldEnv
from phaser.suites.metaworld_tasks import task_named
from phaser.suites.seeds import SEEDS

REFERENCE_TASK = "drawer-open"


def hash_of(images: Mapping[str, UInt8[np.ndarray, "height width 3"]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(images):
        digest.update(f"{name}{images[name].shape}".encode())
        digest.update(np.ascontiguousarray(images[name]).tobytes())
    return digest.hexdigest()


@cache
def reference_hash() -> str:
    """Hash of both cameras at one fixed initial state, drawn once per process."""
    env = MetaWorldEnv(task_named(REFERENCE_TASK))
    try:
        return hash_of(env.reset(SEEDS["train"][0]).images)
    finally:
        env.close()


def require_same_frames(recorded: str, *, drawn: str, where: str) -> None:
    """Refuse to evaluate with pixels that differ from those the policy was trained on."""
    if recorded != drawn:
        raise BadInput(
            f"this machine draws another reference frame ({drawn[:12]}) than {where} was recorded "
            f"with ({recorded[:12]}); use the same GL library and mujoco, or record again"
        )
