"""Demonstrations of our own (`phaser.demos`) as a map-style dataset with LeRobot's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int

from phaser.core.demonstration import ActionLayout, Demo
from phaser.demos.lerobot_layout import CAMERA_PREFIX


@dataclass(frozen=True, slots=True, eq=False)
class DemoSamples:
    """Every frame is a dict of arrays: images, state, action, episode and frame."""

    demos: Sequence[Demo]
    starts: Int[np.ndarray, "edges"] = field(init=False)

    def __post_init__(self) -> None:
        edges = np.cumsum([0, *(demo.num_frames for demo in self.demos)])
        object.__setattr__(self, "starts", edges)

    @property
    def layout(self) -> ActionLayout:
        return self.demos[0].layout

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, row: int) -> dict[str, Any]:
        if not 0 <= row < len(self):
            raise IndexError(row)
        position = int(np.searchsorted(self.starts, row, side="right")) - 1
        demo, frame = self.demos[position], row - int(self.starts[position])
        images = {
            f"{CAMERA_PREFIX}{name}": camera.read([frame])[0]
            for name, camera in demo.cameras.items()
        }
        return {
            **images,
            "observation.state": demo.states[frame],
            "action": demo.actions[frame],
            "episode_index": demo.index,
            "frame_index": frame,
        }

    def column(self, name: str) -> np.ndarray:
        """All frames of one entry, without reading an image; a KeyError for any other."""
        columns: dict[str, Callable[[Demo], np.ndarray]] = {
            "observation.state": lambda demo: demo.states,
            "action": lambda demo: demo.actions,
            "episode_index": lambda demo: np.full(demo.num_frames, demo.index),
            "frame_index": lambda demo: np.arange(demo.num_frames),
        }
        return np.concatenate([columns[name](demo) for demo in self.demos])
