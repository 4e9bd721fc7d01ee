"""Demonstrations of Meta-World that others recorded: a folder with one LeRobot dataset per task."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phaser.core.demonstration import Demo, Task
from phaser.core.errors import BadInput, UnknownName
from phaser.core.suite import SPLITS
from phaser.demos.content_hash import remembered_sha256
from phaser.demos.held_out import last_held_out
from phaser.demos.lerobot import Dataset, open_dataset
from phaser.demos.resized import RESIZING
from phaser.suites.foreign_demos import FOREIGN, Reading
from phaser.suites.metaworld.env import ACTION_NAMES, STATE_NAMES
from phaser.suites.metaworld.recording import LAYOUT
from phaser.suites.metaworld.rendering import CAMERAS, IMAGE_SIZE


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenDatasets:
    """The folder, and how its datasets are read."""

    folder: Path
    heldout_share: float
    cache: Path

    def path(self, task: Task) -> Path:
        """The dataset of a task, there or not."""
        return self.folder / task.name

    def is_there(self, task: Task) -> bool:
        return (self.path(task) / "meta" / "info.json").is_file()

    def require(self, task: Task) -> Dataset:
        if not self.is_there(task):
            raise BadInput(
                f"{self.path(task)} is no LeRobot dataset, which should hold the demonstrations "
                f"of {task.name!r}; restore it, or leave out --suite.demonstrations"
            )
        return open_dataset(self.path(task))

    def demos(self, task: Task, split: str) -> tuple[Demo, ...]:
        """One split of a task's demonstrations: the last ones are held out."""
        dataset = self._checked(task)
        read = Reading(
            task=task.name,
            source=str(dataset.root),
            cameras={name: name for name in CAMERAS},
            image_size=(IMAGE_SIZE, IMAGE_SIZE),
            resize=True,
            after_action=False,
            drop_no_ops=False,
        )
        return tuple(
            read(dataset.demo(dataset.episodes[place], LAYOUT))
            for place in self._places(dataset, split)
        )

    def longest(self, task: Task) -> int:
        """Frames of the longest training demonstration."""
        dataset = self._checked(task)
        places = self._places(dataset, "train")
        return max(dataset.episodes[place].num_frames for place in places)

    def images_sha256(self, task: Task, split: str) -> str:
        """A hash of the dataset, and of all that decides how its frames are seen."""
        content = self.require(task).data_sha256(lambda one: remembered_sha256(one, self.cache))
        facts = [content, split, repr(self.heldout_share), str(IMAGE_SIZE), *CAMERAS]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()

    def facts(self) -> dict[str, Any]:
        """Facts about these demonstrations that belong into the contract."""
        return {"source": "LeRobot datasets", "frames": FOREIGN, "resized": RESIZING}

    def _places(self, dataset: Dataset, split: str) -> list[int]:
        if split not in SPLITS:
            raise UnknownName("split", split, SPLITS)
        count = len(dataset.episodes)
        held = last_held_out(count, self.heldout_share)
        return [place for place in range(count) if (place in held) == (split == "heldout")]

    def _checked(self, task: Task) -> Dataset:
        dataset = self.require(task)
        found = len(dataset.shapes.state_names), len(dataset.shapes.action_names)
        expected = len(STATE_NAMES), len(ACTION_NAMES)
        if found != expected:
            raise BadInput(
                f"{dataset.root} has states of {found[0]} and actions of {found[1]} numbers; "
                f"Meta-World's are {expected[0]} ({', '.join(STATE_NAMES)}) and {expected[1]}"
            )
        told = {episode.instruction for episode in dataset.episodes}
        if len(told) > 1:
            raise BadInput(
                f"{dataset.root} holds {len(told)} instructions; expected one dataset per task"
            )
        return dataset
