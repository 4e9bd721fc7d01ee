"""LIBERO as a suite: tasks by name, demonstrations by scripted experts, a simulator, a protocol."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from phaser.core.contract import Contract
from phaser.core.demonstration import Demo, Task
from phaser.core.errors import BadInput, UnknownName
from phaser.core.folders import cache_folder
from phaser.core.ranges import at_least, check_ranges
from phaser.core.suite import SPLITS, Suite
from phaser.demos.held_out import check_heldout_share
from phaser.demos.lerobot import Dataset, open_dataset
from phaser.suites.foreign_demos import Observed
from phaser.suites.frame_hash import require_as_recorded
from phaser.suites.gl import choose_gl
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.env import LiberoEnv
from phaser.suites.libero.given import PUBLISHED, GivenFiles
from phaser.suites.libero.given_ranges import ranges_of
from phaser.suites.libero.init_states import init_states
from phaser.suites.libero.protocol import PROTOCOLS, Protocol
from phaser.suites.libero.recording import (
    ACTION_NAMES,
    LAYOUT,
    STATE_NAMES,
    LiberoRecording,
    ProtocolRecording,
    frame_hash,
)
from phaser.suites.libero.runtime import require_packages
from phaser.suites.libero.simulator import Control
from phaser.suites.libero.splits import STATES, states
from phaser.suites.libero.tasks import suite_of, task_named, task_names
from phaser.suites.orders import drawn, in_order
from phaser.suites.recorder import ensure_recorded, missing_recordings

# Fixed for all tasks: statistics of the data would change as tasks arrive. Position in metres,
# turns in radians, fingers in metres; the seven joints as the arm is held at the start.
FINGER_CENTRE, FINGER_SCALE = (0.02, -0.02), (0.02, 0.02)
STATE_CENTRE = {
    "pose": (-0.1, 0.0, 1.05, 3.1, 0.0, 0.0, *FINGER_CENTRE),
    "pose-from-down": (-0.1, 0.0, 1.05, 0.0, 0.0, 0.0, *FINGER_CENTRE),
    "joints": (0.0, -0.16, 0.0, -2.4, 0.0, 2.2, 0.8, *FINGER_CENTRE),
}
STATE_SCALE = {
    "pose": (0.15, 0.15, 0.12, 0.5, 0.5, 0.5, *FINGER_SCALE),
    "pose-from-down": (0.15, 0.15, 0.12, 0.5, 0.5, 0.5, *FINGER_SCALE),
    "joints": (0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, *FINGER_SCALE),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Libero(Suite):
    """A list of LIBERO tasks in an order; demonstrations are recorded when first needed."""

    task_list: str | tuple[str, ...] = "libero-goal"
    """A suite by its name, or tasks by theirs."""
    order: str = "default"
    """The order of the tasks: default, reverse or shuffled(N)."""
    stream: int | None = None
    """Draw the order of the tasks and the initial states of rollouts at random, by this number.
    Left to a preset of streams, or in a grid, it is the seed; named in `phaser run`, it holds for
    every seed. None: as they are listed."""
    num_tasks: int | None = None
    """Tasks of a stream, drawn at random out of the list; None: all of it."""
    protocol: Protocol = PROTOCOLS["phaser"]
    recording: LiberoRecording = field(default_factory=LiberoRecording)
    demonstrations: str | None = None
    """A folder of published HDF5 files (TASK_demo.hdf5), or of one such folder per suite, in place
    of recordings of scripted experts; "published": those of phaser libero fetch."""
    heldout_share: float = 0.1
    """With such files: the share at the end that only measures; whole demonstrations, at least
    one."""
    drop_no_ops: bool = True
    """With such files: leave out frames without motion, as OpenVLA's recipe does."""
    observed: Observed = "by-file"
    """With such files: "before" or "after" action t, when frame t was seen; after it, frame t goes
    with action t + 1. "by-file": what each file shows."""
    statistics: bool = False
    """With such files: state the ranges of all tasks' actions and states, for policies that scale
    by them. Needs the files of all tasks, also of those that are learnt."""
    control: Control = "compiled"
    """"robosuite": its own control step in place of ours, which computes the same, faster; "fast":
    the bits of a robosuite that does not compile its controller with numba."""
    cache: Path = field(default_factory=cache_folder)

    def __post_init__(self) -> None:
        check_ranges(
            self,
            stream=at_least(0, whole=True, or_none=True),
            num_tasks=at_least(1, whole=True, or_none=True),
        )
        if self.num_tasks is not None and self.stream is None:
            raise BadInput(
                f"num_tasks {self.num_tasks} without a stream; take a preset of streams, such as "
                "libero-long-streams, or name the tasks with --suite.task-list"
            )
        published = PROTOCOLS.get(self.protocol.name)
        if published is not None and published != self.protocol:
            raise BadInput(
                f"the protocol is called {self.protocol.name!r} but differs from it; give it "
                f"another name, such as --suite.protocol.name my-{self.protocol.name}"
            )
        for task in self.tasks():
            self.horizon(task)
        check_heldout_share(self.heldout_share)
        if self.observed not in get_args(Observed):
            raise UnknownName("observed", self.observed, get_args(Observed))
        if self.statistics and self.demonstrations is None:
            raise BadInput(
                "statistics are of published files, but no demonstrations are named; give "
                "--suite.demonstrations published or a folder"
            )
        if self.demonstrations not in (None, PUBLISHED):
            object.__setattr__(self, "demonstrations", os.path.abspath(str(self.demonstrations)))

    @property
    def has_simulator(self) -> bool:
        return True

    def require(self) -> None:
        require_packages()
        choose_gl()
        for task in self.tasks():
            init_states(suite_of(task.name), task.name)
        for suite in sorted({suite_of(task.name) for task in self.tasks()}):
            assets_folder(suite)

    def for_seed(self, seed: int) -> Libero:
        return self if self.stream is None else replace(self, stream=seed)

    def tasks(self) -> tuple[Task, ...]:
        names = task_names(self.task_list)
        if self.stream is not None:
            names = drawn(names, self.num_tasks or len(names), stream=self.stream)
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
            return [task for task in self.tasks() if not given.path(task).is_file()]
        return missing_recordings(self.tasks(), self.recorded)

    def recorded(self, task: Task, split: str) -> Path:
        """The folder of a recording, made or not."""
        return self._recording.folder(self.cache, task, split)

    def ensure_recorded(self, task: Task, each: Callable[[], None] = lambda: None) -> None:
        if self._given is not None:
            self._given.require(task)
            return
        ensure_recorded(self.cache, task, self._recording, each)

    def demos_to_record(self, task: Task) -> int | None:
        return sum(self.recording.num_demos(split) for split in SPLITS)

    def make_env(self, task: Task) -> LiberoEnv:
        """A simulator, refused when it would draw other pixels than the recording shows.

        Of given demonstrations nobody can tell; the contract says so.
        """
        assets = assets_folder(suite_of(task.name))
        env = LiberoEnv(task, self.protocol, assets=assets, control=self.control)
        if self._given is None:
            require_as_recorded(self.recorded(task, "train"), lambda: frame_hash(env))
        return env

    def horizon(self, task: Task) -> int:
        return self.protocol.step_limit(suite_of(task.name))

    def evaluation_seeds(self, count: int) -> tuple[int, ...]:
        """Initial states that no demonstration starts from, the same for every method."""
        if self.stream is None:
            return states("evaluation", count)
        return drawn(STATES["evaluation"], count, stream=self.stream)

    @property
    def contract(self) -> Contract:
        protocol, ranges = self.protocol, None
        if self.statistics and self._given is not None:
            ranges = ranges_of(self._given, tuple(sorted(self.tasks(), key=lambda one: one.name)))
        return Contract(
            suite="libero",
            cameras=protocol.cameras,
            image_size=(protocol.image_size, protocol.image_size),
            orientation=protocol.orientation,
            state=STATE_NAMES[protocol.state],
            state_centre=STATE_CENTRE[protocol.state],
            state_scale=STATE_SCALE[protocol.state],
            action=ACTION_NAMES,
            layout=LAYOUT,
            state_statistics=None if ranges is None else ranges.states,
            action_statistics=None if ranges is None else ranges.actions,
            protocol=protocol.to_json()
            | ({} if self._given is None else {"demonstrations": self._given.facts()}),
        )

    @property
    def _given(self) -> GivenFiles | None:
        if self.demonstrations is None:
            return None
        return GivenFiles(
            folder=self.demonstrations,
            protocol=self.protocol,
            heldout_share=self.heldout_share,
            drop_no_ops=self.drop_no_ops,
            observed=self.observed,
            cache=self.cache,
        )

    @property
    def _recording(self) -> ProtocolRecording:
        return ProtocolRecording(
            settings=self.recording, protocol=self.protocol, control=self.control
        )

    def _dataset(self, task: Task, split: str) -> Dataset:
        if split not in SPLITS:
            raise UnknownName("split", split, SPLITS)
        self.ensure_recorded(task)
        return open_dataset(self.recorded(task, split))
