"""AlphaBrain's task dataset, read step by step.

The dataset itself draws a random step of a mixture whatever index it is asked for, and replaces
what it cannot read by another step: neither episodes nor frames can be told apart through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FilteredSteps:
    """The steps of AlphaBrain's task dataset by index, with episode and frame numbers.

    Sub-datasets number their trajectories alike, so episodes are numbered anew in their order.
    Frames are counted as the dataset lists them: it may leave out pauses.
    """

    steps: list[tuple[Any, Any, Any]]
    """Sub-dataset, trajectory and step of every sample, in order of time."""
    episodes: Int[np.ndarray, "steps"]
    frames: Int[np.ndarray, "steps"]
    names: tuple[Any, Any]

    @classmethod
    def of(cls, dataset: Any, *, episode: Any, frame: Any) -> FilteredSteps:
        """`episode` and `frame` are the names under which the two numbers are asked for."""
        base = dataset.base_dataset
        parts = (
            list(zip(base.datasets, dataset._filtered_steps_per_dataset, strict=True))
            if hasattr(dataset, "_filtered_steps_per_dataset")
            else [(base, dataset._filtered_steps)]
        )
        steps, episodes, frames = [], [], []
        numbers: dict[tuple[int, Any], int] = {}
        for position, (part, listed) in enumerate(parts):
            lengths: dict[Any, int] = {}
            for trajectory, step in sorted(listed):
                steps.append((part, trajectory, step))
                episodes.append(numbers.setdefault((position, trajectory), len(numbers)))
                frames.append(lengths.get(trajectory, 0))
                lengths[trajectory] = frames[-1] + 1
        return cls(
            steps=steps,
            episodes=np.array(episodes, dtype=np.int64),
            frames=np.array(frames, dtype=np.int64),
            names=(episode, frame),
        )

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, row: int) -> dict[str, Any]:
        part, trajectory, step = self.steps[row]
        sample: dict[str, Any] = part._pack_sample(
            part.transforms(part.get_step_data(trajectory, step))
        )
        return {**sample, "robot_tag": part.tag} if hasattr(part, "tag") else sample

    def column(self, name: Any) -> Int[np.ndarray, "steps"]:
        columns: dict[Any, Int[np.ndarray, "steps"]] = dict(
            zip(self.names, (self.episodes, self.frames), strict=True)
        )
        return columns[name]
