"""Meta-World as a suite: tasks by name, recorded demonstrations, a simulator, step limits."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from phaser.core.contract import Contract
from phaser.core.demonstration import Demo, Task
from phaser.core.errors import MissingDependency, UnknownName
from phaser.core.folders import cache_folder
from phaser.core.ranges import COUNT, at_least, check_ranges
from phaser.core.suite import SPLITS, Suite
from phaser.demos.held_out import check_heldout_share
from phaser.demos.lerobot import Dataset, open_dataset
from phaser.suites.frame_hash import require_as_recorded
from phaser.suites.gl import choose_gl
from phaser.suites.metaworld.env import ACTION_NAMES, STATE_NAMES, MetaWorldEnv
from phaser.suites.metaworld.given import GivenDatasets
from phaser.suites.metaworld.recording import LAYOUT, MetaWorldRecording
from phaser.suites.metaworld.reference_frame import reference_hash
from phaser.suites.metaworld.rendering import CAMERAS, IMAGE_SIZE
from phaser.suites.metaworld.seeds import SEEDS, seeds
from phaser.suites.metaworld.tasks import task_named, task_names
from phaser.suites.orders import drawn, in_order
from phaser.suites.recorder import ensure_recorded, missing_recordings

MAX_HORIZON = 200
# Fixed for all tasks: statistics of the data would change as tasks arrive.
STATE_CENTRE = (0.0, 0.6, 0.15, 0.5)
STATE_SCALE = (0.15, 0.15, 0.15, 0.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class MetaWorld(Suite):
    """A list of Meta-World tasks in an order; demonstrations are recorded when first needed."""

    task_list: str | tuple[str, ...] = "metaworld-10"
    """A list by its name, or tasks by theirs."""
    order: str = "default"
    """The order of the tasks: default, reverse or shuffled(N)."""
    stream: int | None = None
    """Draw tasks of the list, their order and the initial states of rollouts at random, by this
    number. Left to a preset of streams, or in a grid, it is the seed; named in `phaser run`, it
    holds for every seed. None: the list as it is."""
    num_tasks: int = 10
    """Tasks that a stream draws."""
    recording: MetaWorldRecording = field(default_factory=MetaWorldRecording)
    demonstrations: Path | None = None
    """A folder with one LeRobot dataset per task, under the task's name, in place of recordings of
    scripted experts; images are resized to 96 x 96."""
    heldout_share: float = 0.1
    """With such datasets: the share at the end that only measures; whole episodes, at least one."""
    cache: Path = field(default_factory=cache_folder)

    def __post_init__(self) -> None:
        check_ranges(self, stream=at_least(0, whole=True, or_none=True), num_tasks=COUNT)
        self.tasks()
        check_heldout_share(self.heldout_share)
        if self.demonstrations is not None:
            object.__setattr__(self, "demonstrations", Path(os.path.abspath(self.demonstrations)))

    @property
    def has_simulator(self) -> bool:
        return True

    def require(self) -> None:
        for package in ("mujoco", "metaworld"):
            if importlib.util.find_spec(package) is None:
                raise MissingDependency(
                    f"{package} is not installed; run: pip install 'phaser-vla[metaworld]'"
                )
        choose_gl()

    def for_seed(self, seed: int) -> MetaWorld:
        return self if self.stream is None else replace(self, stream=seed)

    def tasks(self) -> tuple[Task, ...]:
        names = task_names(self.task_list)
        if self.stream is not None:
            names = drawn(names, self.num_tasks, stream=self.stream)
        return tuple(task_named(name) for name in in_order(names, self.order))

    def demos(self, task: Task, split: str) -> tuple[Demo, ...]:
        if self._given is not None:
            return self._given.demos(task, split)
        return self._dataset(task, split).demos()

    def images_sha256(self, task: Task, split: str) -> str:
        """What the recorded images hash to, so that features are never those of other pixels."""
        if self._given is not None:
            return self._given.images_sha256(task, split)
        return self._dataset(task, split).data_sha256()

    def missing(self) -> list[Task]:
        given = self._given
        if given is not None:
            return [task for task in self.tasks() if not given.is_there(task)]
        return missing_recordings(self.tasks(), self.recorded)

    def recorded(self, task: Task, split: str) -> Path:
        """The folder of a recording, made or not."""
        return self.recording.folder(self.cache, task, split)

    def ensure_recorded(self, task: Task, each: Callable[[], None] = lambda: None) -> None:
        if self._given is not None:
            self._given.require(task)
            return
        ensure_recorded(self.cache, task, self.recording, each)

    def demos_to_record(self, task: Task) -> int | None:
        return sum(self.recording.num_demos(split) for split in SPLITS)

    def make_env(self, task: Task) -> MetaWorldEnv:
        """A simulator, refused when it would draw other pixels than the recording shows.

        Of given demonstrations nobody can tell; the contract says so.
        """
        if self._given is None:
            require_as_recorded(self.recorded(task, "train"), reference_hash)
        return MetaWorldEnv(task)

    def horizon(self, task: Task) -> int:
        """A quarter longer than the longest training demonstration, and at least 20 steps more."""
        longest = (
            self._given.longest(task)
            if self._given is not None
            else max(rows.num_frames for rows in self._dataset(task, "train").episodes)
        )
        return min(max(longest * 5 // 4, longest + 20), MAX_HORIZON)

    def evaluation_seeds(self, count: int) -> tuple[int, ...]:
        """Initial states that no demonstration starts from, the same for every method."""
        if self.stream is None:
            return tuple(seeds("evaluation", count))
        return drawn(SEEDS["evaluation"], count, stream=self.stream)

    @property
    def contract(self) -> Contract:
        return Contract(
            suite="metaworld",
            cameras=tuple(CAMERAS),
            image_size=(IMAGE_SIZE, IMAGE_SIZE),
            state=STATE_NAMES,
            state_centre=STATE_CENTRE,
            state_scale=STATE_SCALE,
            action=ACTION_NAMES,
            layout=LAYOUT,
            protocol={} if self._given is None else {"demonstrations": self._given.facts()},
        )

    @property
    def _given(self) -> GivenDatasets | None:
        if self.demonstrations is None:
            return None
        return GivenDatasets(
            folder=self.demonstrations, heldout_share=self.heldout_share, cache=self.cache
        )

    def _dataset(self, task: Task, split: str) -> Dataset:
        if split not in SPLITS:
            raise UnknownName("split", split, SPLITS)
        self.ensure_recorded(task)
        return open_dataset(self.recorded(task, split))
