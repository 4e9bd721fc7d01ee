"""One task of a stream: what is done at each place of LeRobot's training script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput
from phaser.core.processes import is_first_process
from phaser.integrations.lerobot.held_out import HeldOut
from phaser.integrations.lerobot.progress import Learnt, Progress
from phaser.integrations.lerobot.rollouts import env_of, roll_out
from phaser.integrations.lerobot.script import (
    Hooks,
    Seen,
    collate_of,
    instructions_of,
    modes_of,
    output_of,
)
from phaser.integrations.lerobot.settings import Rehearsal
from phaser.integrations.lerobot.statistics import OfFeatures, in_force, refuse_blow_up
from phaser.replay.columns import Columns, say
from phaser.replay.replay import Replay
from phaser.replay.task import ReplayTask
from phaser.replay.tensors import all_processes


@dataclass(kw_only=True, slots=True, eq=False)
class TaskRun:
    """Keeps, rehearses and measures around the training of one task."""

    settings: Rehearsal
    name: str | None
    """The task's name in the memory; None: after its dataset."""
    finished: Callable[[], None] = lambda: None
    """Called on every process at the very end, while they can still talk."""
    _replay: Replay | None = field(default=None, init=False)
    _task: ReplayTask | None = field(default=None, init=False)

    @property
    def progress(self) -> Progress:
        return Progress(self.settings.folder)

    @property
    def hooks(self) -> Hooks:
        return Hooks(
            held_out_share=self.settings.held_out,
            statistics=self.statistics,
            begin=self.begin,
            end=self.end,
        )

    def statistics(self, seen: Seen) -> OfFeatures:
        """The statistics in force for this task, unless numbers of its dataset would blow up."""
        name = self._name(seen)
        earlier = self.progress.statistics([one.name for one in self._earlier(name)])
        found = in_force(self.settings.statistics, earlier, seen.statistics)
        modes = modes_of(seen.config, list(seen.statistics))
        refuse_blow_up(found, seen.statistics, modes, dataset=name)
        if is_first_process():
            self.progress.write_statistics(name, seen.statistics, found)
        return found

    def begin(self, seen: Seen) -> Callable[[Any], Any]:
        """Begin the task in the memory, where it is not kept already."""
        name, settings = self._name(seen), self.settings
        self._replay = Replay(
            settings.folder,
            method=settings.method,
            budget=settings.budget,
            codec=settings.codec,
            seed=settings.seed,
            layout=settings.layout,
            phases=settings.phases,
            rehearsed_share=settings.share,
            columns=self._columns,
            collate=collate_of(seen.dataset),
        )
        if name in self._replay.stored and seen.step >= seen.config.steps:
            # Killed between keeping and recording: nothing is left to train.
            return lambda batch: batch
        self._task = self._replay.task(
            seen.dataset,
            instruction=self._instruction(seen),
            name=name,
            start_step=seen.step,
            as_one=self.settings.instruction is not None,
        )
        if is_first_process():
            say(
                f"{name}: {self._task.num_stored} frames of "
                f"{len(self._replay.stored)} earlier tasks to rehearse"
            )
        return self._task.mix

    def end(self, seen: Seen) -> None:
        """Keep the task, measure every learnt dataset, record that the task is done."""
        name = self._name(seen)
        if self._task is not None:
            self._task.finish()
        learnt = Learnt(
            name=name,
            repo_id=seen.config.dataset.repo_id,
            root=_absolute(seen.config.dataset.root),
            episodes=_numbers(seen.config.dataset.episodes),
            held_out=seen.held_out,
            instruction=self._instruction(seen),
            method=self.settings.method,
            output=str(output_of(seen.config).resolve()),
            num_steps=seen.config.steps,
            statistics=self.settings.statistics,
            env=env_of(seen.config),
        )
        learnt_so_far = (*self._earlier(name), learnt)
        measuring = HeldOut(settings=self.settings, progress=self.progress, columns=self._columns)
        measuring.measure(learnt_so_far, seen)
        if is_first_process():
            roll_out(learnt_so_far, seen, self.progress.folder, rollouts=self.settings.rollouts)
            self.progress.add(learnt)
        all_processes(True)
        self.finished()

    @property
    def _columns(self) -> Columns:
        return Columns(images=self.settings.cameras)

    def _earlier(self, name: str) -> tuple[Learnt, ...]:
        learnt = self.progress.learnt()
        if name in {one.name for one in learnt}:
            raise BadInput(
                f"{name!r} is learnt already in {self.settings.folder}; give another dataset, or "
                "another name: --replay.name"
            )
        return learnt

    def _name(self, seen: Seen) -> str:
        dataset = seen.config.dataset
        return self.name or Path(dataset.root or dataset.repo_id).name

    def _instruction(self, seen: Seen) -> str:
        found = instructions_of(seen.dataset)
        if self.settings.instruction:
            return self.settings.instruction
        if len(found) != 1:
            raise BadInput(
                f"{seen.config.dataset.repo_id} has {len(found)} tasks ({', '.join(found[:3])} …); "
                "expected one: split the dataset, or give --replay.instruction for all"
            )
        return found[0]


def _numbers(episodes: Any) -> tuple[int, ...] | None:
    return None if episodes is None else tuple(int(one) for one in episodes)


def _absolute(root: Any) -> str | None:
    return None if root is None else str(Path(root).resolve())
