"""Datasets as a suite: any list of LeRobot folders and HDF5 files, in order, is a stream of tasks.

There is no simulator: phases, memory, routing, training and held-out losses are as in other suites,
success is not measured. All that a run needs of its sources beside the demonstrations themselves is
found when the run is made and written into its settings, so that a run goes on although the sources
of tasks that it has learnt are gone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from phaser.core.contract import Contract
from phaser.core.demonstration import ActionLayout, Demo, Task
from phaser.core.errors import BadInput, UnknownName
from phaser.core.folders import cache_folder
from phaser.core.segmentation import Segmentation
from phaser.core.suite import DERIVED, SPLITS, Suite
from phaser.demos.held_out import check_heldout_share, evenly_held_out
from phaser.demos.layouts import layout_named
from phaser.demos.lerobot import open_dataset
from phaser.demos.resized import RESIZING
from phaser.demos.turned import check_turn
from phaser.phases.lerobot_phases import read_phases
from phaser.suites.datasets.finding import find_sources
from phaser.suites.datasets.found import FoundSources, FoundTask
from phaser.suites.datasets.source import Source, content_sha256, is_there
from phaser.suites.foreign_demos import Observed, Reading
from phaser.suites.libero.demonstrations import check_gripper
from phaser.suites.orders import in_order


@dataclass(frozen=True, kw_only=True, slots=True)
class Datasets(Suite):
    """Tasks from datasets on disk; success is not measured."""

    sources: tuple[Path, ...] = ()
    """LeRobot folders (v2.x, v3.0), HDF5 files (LIBERO, robomimic) or folders of them, in the order
    in which they are learnt. A source with several instructions is as many tasks."""
    instructions: tuple[str, ...] = ()
    """Words that the policy is told, one per source; '' or none at all: the source's own."""
    order: str = "default"
    """Order of the tasks: default, reverse, shuffled(SEED)."""
    heldout_share: float = 0.1
    """Share of a task's demonstrations that only measure, spread evenly; whole ones, at least 1."""
    layout: str | None = None
    """Meaning of the action's numbers, by name, as in `phaser segment`: libero, robosuite,
    metaworld, aloha, …; none: the dataset's meta/phaser.json says it."""
    motion: tuple[int, ...] = ()
    """Instead of a layout: the numbers of an action that move the arm, counted from 0."""
    gripper: tuple[int, ...] = ()
    """Instead of a layout: the numbers of an action that command the gripper."""
    absolute: bool = False
    """With motion: actions are targets (joint angles, poses), not changes."""
    cameras: tuple[str, ...] = ()
    """Cameras that the policy sees; none: all that every source has."""
    image_size: tuple[int, int] | None = None
    """Height and width to which images are resized; none: that of the sources, if they agree."""
    turns: tuple[str, ...] = ()
    """How images are turned while they are read, once for all sources or one per source: as-stored,
    flip-vertical, flip-horizontal, rotate-180."""
    state_keys: tuple[str, ...] = ()
    """Arrays of an HDF5 demonstration that are the state; none: LIBERO's or robomimic's."""
    observed: Observed = "by-file"
    """"before": frame t was seen before action t. "after": after it, as LIBERO's own files have it;
    then frame t goes with action t + 1. "by-file": what each file shows."""
    drop_no_ops: bool = False
    """Leave out frames without motion whose gripper command is unchanged, as OpenVLA's recipe."""
    cache: Path = field(default_factory=cache_folder)
    found: FoundSources | None = field(default=None, metadata=DERIVED)
    """Everything that the run has to know of its sources; found when it is made."""

    def __post_init__(self) -> None:
        absolute = tuple(Path(os.path.abspath(path)) for path in self.sources)
        object.__setattr__(self, "sources", absolute)
        check_heldout_share(self.heldout_share)
        in_order((), self.order)
        if self.observed not in get_args(Observed):
            raise UnknownName("observed", self.observed, get_args(Observed))
        for turn in self.turns:
            check_turn(turn)
        if self.motion and self.layout:
            raise BadInput(f"layout {self.layout!r} and motion {self.motion}; give one of them")
        if (self.gripper or self.absolute) and not self.motion:
            raise BadInput("gripper and absolute go with motion; give --suite.motion as well")
        if self.layout is not None:
            layout_named(self.layout)
        if self.sources and (self.found is None or self.found.asked_sha256 != self.asked_sha256):
            object.__setattr__(self, "found", find_sources(self))

    @property
    def asked_sha256(self) -> str:
        """A hash of all settings that decide what is found in the sources."""
        asked = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("order", "cache", "found")
        }
        return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()

    @property
    def given_layout(self) -> ActionLayout | str | None:
        """The meaning of the action's numbers as the user gives it; None: the sources say it."""
        if not self.motion:
            return self.layout
        convention = "absolute" if self.absolute else "delta"
        return ActionLayout(motion=self.motion, gripper=self.gripper, convention=convention)

    def tasks(self) -> tuple[Task, ...]:
        by_name = {one.name: one.task for one in self._found.tasks}
        return tuple(by_name[name] for name in in_order(tuple(by_name), self.order))

    def demos(self, task: Task, split: str) -> tuple[Demo, ...]:
        if split not in SPLITS:
            raise UnknownName("split", split, SPLITS)
        self.ensure_recorded(task)
        one = self._task(task)
        demos = self.source_of(one).open().demos(Task(name=one.name_in_source, instruction=""))
        if len(demos) != one.num_demos:
            raise BadInput(
                f"{one.source} held {one.num_demos} demonstrations of {task.name!r} when the run "
                f"was made, and now {len(demos)}; restore it, or begin again with another --out"
            )
        held = evenly_held_out(len(demos), self.heldout_share)
        chosen = [k for k in range(len(demos)) if (k in held) == (split == "heldout")]
        return tuple(self.read(demos[k], one, self._found) for k in chosen)

    def read(self, demo: Demo, one: FoundTask, found: FoundSources) -> Demo:
        """A demonstration of a source as the policy is to see it; no image is read yet."""
        if self.layout is not None:
            check_gripper(demo, self.layout)
        return Reading(
            task=one.name,
            source=str(one.source),
            cameras={name: name for name in found.cameras},
            image_size=found.image_size,
            resize=self.image_size is not None,
            after_action=one.after_action,
            drop_no_ops=self.drop_no_ops,
        )(demo)

    def source_of(self, one: FoundTask) -> Source:
        """The source of a task, and how it is read."""
        return Source(
            path=one.source,
            layout=self.given_layout,
            turn=one.turn,
            state_keys=self.state_keys,
            instruction=one.instruction,
        )

    def recorded_phases(self, task: Task) -> dict[int, Segmentation]:
        """Phases that a LeRobot dataset carries, of the episodes of one task."""
        one = self._task(task)
        source = self.source_of(one)
        if not source.is_lerobot:
            raise BadInput(
                f"{one.source} is an HDF5 file, which carries no phases; name a stage_info.json "
                "with --phases"
            )
        dataset = open_dataset(one.source)
        own = {
            rows.index for rows in dataset.episodes if dataset.task_name(rows) == one.name_in_source
        }
        found = read_phases(one.source)
        return {episode: cut for episode, cut in found.items() if episode in own}

    def images_sha256(self, task: Task, split: str) -> str:
        """A hash of the source's content, and of all that decides how its frames are seen."""
        self.ensure_recorded(task)
        one, found = self._task(task), self._found
        facts = [content_sha256(one.source, self.cache), split, one.name_in_source, one.turn]
        facts += [str(one.after_action), str(self.drop_no_ops), repr(self.heldout_share)]
        facts += [repr(found.cameras), repr(found.image_size)]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()

    def missing(self) -> list[Task]:
        """Tasks whose source is gone: they cannot be learnt any more, nor measured."""
        return [task for task in self.tasks() if not is_there(self._task(task).source)]

    def ensure_recorded(self, task: Task, each: Callable[[], None] = lambda: None) -> None:
        """Refuse a task whose source is gone; nothing can be recorded here."""
        source = self._task(task).source
        if not is_there(source):
            raise BadInput(
                f"{source}, the source of task {task.name!r}, is gone; restore it, as only tasks "
                "that are learnt can do without"
            )

    @property
    def contract(self) -> Contract:
        found = self._found
        return Contract(
            suite="datasets",
            cameras=found.cameras,
            image_size=found.image_size,
            orientation=found.orientation,
            state=found.state,
            state_centre=found.state_statistics.mean,
            state_scale=found.state_statistics.scale,
            action=found.action,
            layout=found.layout,
            state_statistics=found.state_statistics,
            action_statistics=found.action_statistics,
            protocol=self._protocol(),
        )

    def _protocol(self) -> dict[str, Any]:
        found = self._found
        return {
            "turns": {one.name: one.turn for one in found.tasks},
            "paired_with_next_action": [one.name for one in found.tasks if one.after_action],
            "drop_no_ops": self.drop_no_ops,
            "resized": RESIZING if self.image_size else False,
        }

    @property
    def _found(self) -> FoundSources:
        if self.found is None:
            raise BadInput("no sources; name datasets to learn: --suite.sources a.hdf5 b/ c/")
        return self.found

    def _task(self, task: Task) -> FoundTask:
        known = {one.name: one for one in self._found.tasks}
        if task.name not in known:
            raise UnknownName("task of these datasets", task.name, known)
        return known[task.name]
