"""The datasets that a memory was kept from, where they are still there: neighbours and names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.demonstration import ActionLayout, Demo
from phaser.core.errors import BadInput
from phaser.core.files import read_json
from phaser.demos.lerobot import Dataset, open_dataset
from phaser.demos.lerobot_writer import Episode
from phaser.demos.parquet_rows import EpisodeRows
from phaser.memory.store import Store


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ExportSources:
    """By task the dataset that its demonstrations lie in."""

    datasets: Mapping[str, Dataset]
    _demos: dict[tuple[str, int], Demo] = field(default_factory=dict)

    def lengths(self) -> dict[str, dict[int, int]]:
        """Frames of every demonstration, by task and number."""
        return {
            task: {rows.index: rows.num_frames for rows in dataset.episodes}
            for task, dataset in self.datasets.items()
        }

    def features(self) -> dict[str, Any]:
        """The columns of the first dataset, as its info.json describes them."""
        first = next(iter(self.datasets.values()))
        found: dict[str, Any] = read_json(first.root / "meta/info.json")["features"]
        return found

    def demo(self, task: str, number: int) -> Demo:
        """One demonstration; the last one that was asked for is kept."""
        if (task, number) not in self._demos:
            dataset = self.datasets[task]
            rows = {one.index: one for one in dataset.episodes}
            if number not in rows:
                raise BadInput(f"{dataset.root} has no episode {number}, of which frames are kept")
            self._demos.clear()
            self._demos[(task, number)] = _demo(dataset, rows[number])
        return self._demos[(task, number)]

    def check(self, task: str, number: int, frame: int, action: np.ndarray) -> None:
        """Refuse a dataset whose action at a kept frame is another than the memory's."""
        demo = self.demo(task, number)
        fits = frame < demo.num_frames and np.allclose(demo.actions[frame], action, atol=1e-5)
        if not fits:
            raise BadInput(
                f"{self.datasets[task].root} has another action at frame {frame} of episode "
                f"{number} than the memory keeps of task {task!r}; name the dataset it came from"
            )

    def episode(
        self, task: str, number: int, frames: Sequence[int], cameras: Sequence[str]
    ) -> Episode:
        """Frames of one demonstration, as the dataset has them."""
        demo = self.demo(task, number)
        if missing := [name for name in cameras if name not in demo.cameras]:
            raise BadInput(
                f"{self.datasets[task].root} has no camera {missing[0]!r}; name the entries that "
                "it has with --images"
            )
        chosen = list(frames)
        return Episode(
            instruction=demo.instruction or task,
            actions=demo.actions[chosen].astype(np.float32),
            states=demo.states[chosen].astype(np.float32),
            images={name: demo.cameras[name].read(chosen) for name in cameras},
        )


def open_sources_of(store: Store, roots: Sequence[Path]) -> ExportSources:
    """The dataset of each task: the one that has its instruction, or the only one there is."""
    opened = [open_dataset(root) for root in roots]
    found = {}
    for task in store.tasks:
        fitting = [
            one
            for one in opened
            if len(opened) == 1 or task.instruction in {rows.instruction for rows in one.episodes}
        ]
        if len(fitting) != 1:
            raise BadInput(
                f"{len(fitting)} of the datasets {', '.join(map(str, roots))} have the instruction "
                f"{task.instruction!r} of task {task.name!r}; expected one of them"
            )
        found[task.name] = fitting[0]
    return ExportSources(datasets=found)


def declared(source: Mapping[str, str]) -> dict[str, Any]:
    """What a stored task knows of its dataset: robot_type, fps and names, as far as it does."""
    names = json.loads(source.get("names", "{}"))
    fps = source.get("fps", "")
    return {
        "robot_type": source.get("robot_type"),
        "fps": int(fps) if fps.isdecimal() else None,
        "names": names if isinstance(names, dict) else {},
    }


def _demo(dataset: Dataset, rows: EpisodeRows) -> Demo:
    every = ActionLayout(motion=tuple(range(len(dataset.shapes.action_names))), gripper=())
    return dataset.demo(rows, every)
