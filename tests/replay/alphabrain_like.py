"""AlphaBrain's datasets and context as they are, bad habits included; see their own source."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from made_samples import LENGTHS, actions_of, pixels_of
from PIL import Image


class SingleDataset:
    """Trajectories numbered from 0, read by (trajectory, step)."""

    tag = "franka"

    def __init__(self, lang: str, lengths: tuple[int, ...] = LENGTHS) -> None:
        self.lang, self.lengths = lang, lengths
        self.all_steps = [
            (one, step) for one, length in enumerate(lengths) for step in range(length)
        ]

    def get_step_data(self, trajectory: int, step: int) -> dict[str, Any]:
        actions = actions_of(self.lengths[trajectory])
        ahead = np.minimum(np.arange(step, step + 8), len(actions) - 1)
        return {"action": actions[ahead], "pixels": pixels_of(trajectory, step)}

    def transforms(self, step: dict[str, Any]) -> dict[str, Any]:
        return step | {"action": step["action"].astype(np.float16)}

    def _pack_sample(self, step: dict[str, Any]) -> dict[str, Any]:
        image = Image.fromarray(step["pixels"])
        return {"image": [image, image], "lang": self.lang, "action": step["action"]}


class Mixture:
    def __init__(self, *datasets: SingleDataset) -> None:
        self.datasets = list(datasets)


class TaskFiltered:
    """Whatever index is asked for, a mixture answers with a random step."""

    def __init__(self, base: Any) -> None:
        self.base_dataset = base
        if isinstance(base, Mixture):
            self._filtered_steps_per_dataset = [list(one.all_steps) for one in base.datasets]
        else:
            self._filtered_steps = list(base.all_steps)

    def __len__(self) -> int:
        return sum(map(len, getattr(self, "_filtered_steps_per_dataset", [[]]))) or len(
            self._filtered_steps
        )

    def __getitem__(self, index: int) -> dict[str, Any]:
        several = isinstance(self.base_dataset, Mixture)
        part = random.choice(self.base_dataset.datasets) if several else self.base_dataset
        sample = part._pack_sample(
            part.transforms(part.get_step_data(*random.choice(part.all_steps)))
        )
        return {**sample, "robot_tag": part.tag}


@dataclass
class Context:
    """CLContext of AlphaBrain; not every field is set at every hook."""

    task_id: int | None = None
    model: Any = None
    task_dataset: Any = None
    task_dataloader: Any = None
    accelerator: Any = None
