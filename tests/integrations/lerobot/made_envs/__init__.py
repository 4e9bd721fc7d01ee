"""A simulator for tests: an environment that LeRobot finds by name, with a task for each dataset.

`left` always ends in success, `right` never: rows of one cannot be taken for the other's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from arm_datasets import CAMERA, NAMES
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig

STEPS, SIDE = 3, 64
IDS = {task: f"made_envs/{task}" for task in ("left", "right")}


@EnvConfig.register_subclass("made")
@dataclass
class MadeEnv(EnvConfig):
    """As `--env.type=made --env.task=left` asks for it."""

    task: str | None = "left"
    fps: int = 10
    features: dict[str, PolicyFeature] = field(
        default_factory=lambda: {
            "action": PolicyFeature(type=FeatureType.ACTION, shape=(len(NAMES),)),
            "agent_pos": PolicyFeature(type=FeatureType.STATE, shape=(len(NAMES),)),
            "pixels/front": PolicyFeature(type=FeatureType.VISUAL, shape=(SIDE, SIDE, 3)),
        }
    )
    features_map: dict[str, str] = field(
        default_factory=lambda: {
            "action": "action",
            "agent_pos": "observation.state",
            "pixels/front": CAMERA,
        }
    )

    @property
    def package_name(self) -> str:
        return "made_envs"

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        return {}


class Arm(gymnasium.Env[Any, Any]):
    """Three steps, then the end."""

    metadata = {"render_fps": 10}  # noqa: RUF012
    observation_space = gymnasium.spaces.Dict(
        {
            "pixels": gymnasium.spaces.Dict(
                {"front": gymnasium.spaces.Box(0, 255, (SIDE, SIDE, 3), np.uint8)}
            ),
            "agent_pos": gymnasium.spaces.Box(-180, 180, (len(NAMES),), np.float32),
        }
    )
    action_space = gymnasium.spaces.Box(-1000, 1000, (len(NAMES),), np.float32)

    def __init__(self, *, succeeds: bool) -> None:
        self.succeeds, self.taken = succeeds, 0
        self.task_description = "put the cube somewhere"

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.taken = 0
        return self._seen(), {"is_success": False}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert np.isfinite(action).all()
        self.taken += 1
        over = self.taken == STEPS
        done = over and self.succeeds
        return self._seen(), float(done), over, False, {"is_success": done}

    def _seen(self) -> dict[str, Any]:
        pixels = np.full((SIDE, SIDE, 3), 50 * self.taken, np.uint8)
        return {"pixels": {"front": pixels}, "agent_pos": np.zeros(len(NAMES), np.float32)}


for _task, _id in IDS.items():
    gymnasium.register(_id, Arm, max_episode_steps=10 * STEPS, kwargs={"succeeds": _task == "left"})
