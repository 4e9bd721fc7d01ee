"""One cell: a method learns a stream of tasks with one seed; its folder holds all that is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from phaser.core.demonstration import Task
from phaser.core.memory import Memory, PreparedTask
from phaser.core.streams import Streams
from phaser.evaluation.matrix import JOINT_ROW
from phaser.evaluation.rollouts import Episode, Lane, rollouts
from phaser.experiments.allocator import keep_freed_memory
from phaser.experiments.folder import CellFolder
from phaser.experiments.learner import PolicyLearner
from phaser.experiments.phase_probe import phase_loss_rows
from phaser.experiments.prepare import TaskMaterial, material
from phaser.experiments.run import Run
from phaser.experiments.simulators import simulator
from phaser.memory.certificate import certificate
from phaser.routing.nothing import NoDraw
from phaser.training.frames import FrameTable
from phaser.training.stream import TaskFinished, learn_stream

Event = dict[str, Any]
Notify = Callable[[Event], None]


@dataclass(kw_only=True, eq=False)
class Cell:
    """Everything that lives while a cell runs."""

    run: Run
    folder: CellFolder
    notify: Notify
    frames: FrameTable = field(default_factory=FrameTable)
    heldout: FrameTable = field(default_factory=FrameTable)
    materials: dict[str, TaskMaterial] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.started_s = time.process_time()
        torch.set_num_threads(1)
        keep_freed_memory()
        self.streams = Streams(self.run.seed)
        self.tasks = self.run.suite.tasks()
        stream = self.streams.named("weights")
        self.policy = self.run.policy.build(self.run.suite.contract, stream)
        self.learner = PolicyLearner(
            policy=self.policy,
            frames=self.frames,
            fit=self.run.fit,
            streams=self.streams,
            accelerator=Accelerator(cpu=True),
            progress=self._progress,
        )

    def prepare(self, task: Task) -> PreparedTask:
        """Read a task when its turn comes; recorded or encoded now if nobody did before."""
        with self._timed("prepare_s"):
            self.notify({"kind": "prepare", "task": task.name})
            made = material(self.run, task, self.policy)
            self.materials[task.name] = made
            self.frames.tasks[task.name] = made.train
            self.heldout.tasks[task.name] = made.heldout
        return made.prepared

    def execute(self) -> None:
        self.folder.start(self.run)
        memory = self._joint() if self.run.method.joint else self._stream()
        prepared = [self.materials[task.name].prepared for task in self.tasks]
        stride = getattr(self.run.method.keep, "stride", 1)
        self.folder.write_budget(certificate(memory, prepared, stride=stride))
        total = time.process_time() - self.started_s
        self.seconds["train_s"] = total - sum(self.seconds.values())
        self.folder.finish(self.seconds | {"total_cpu_s": total})
        self.notify({"kind": "done"})

    def _stream(self) -> Memory:
        tasks = (self.prepare(task) for task in self.tasks)
        memory = Memory()
        for index, finished in enumerate(
            learn_stream(tasks, self.learner, self.run.method, self.streams)
        ):
            memory = finished.memory
            self._after(index, finished)
        return memory

    def _joint(self) -> Memory:
        prepared = [self.prepare(task) for task in self.tasks]
        nothing = NoDraw().for_task(
            Memory(), prepared[0], self.streams.named("draw"), self.learner.frame_losses
        )
        loss = self.learner.learn_jointly(prepared, nothing)
        last = len(self.tasks) - 1
        every = self.run.evaluation.rollouts_per_task
        episodes = self._evaluate(JOINT_ROW, last, {task.name: every for task in self.tasks})
        self.folder.write_losses(self._losses(JOINT_ROW, last))
        self._report(JOINT_ROW, last, loss, episodes)
        return Memory()

    def _after(self, index: int, finished: TaskFinished) -> None:
        """Measure after a task: the task itself in full, the earlier ones as asked for."""
        name = finished.task.task.name
        is_last = index == len(self.tasks) - 1
        self.folder.save_policy(index, name, self.policy)
        self.folder.add_routing(name, finished)
        settings = self.run.evaluation
        counts = dict.fromkeys(
            (task.name for task in self.tasks[: index + 1]), settings.earlier_rollouts
        )
        counts[name] = settings.learnt_rollouts
        if is_last:
            counts = dict.fromkeys(counts, settings.rollouts_per_task)
        episodes = self._evaluate(name, index, counts)
        with self._timed("probe_s"):
            self.folder.write_losses(self._losses(name, index))
        self._report(name, index, finished.loss, episodes)

    def _evaluate(self, after: str, index: int, counts: dict[str, int]) -> list[Episode]:
        with self._timed("rollout_s"):
            lanes = [
                Lane(
                    task=task,
                    env=simulator(self.run.suite, task),
                    horizon=self.run.suite.horizon(task),
                    env_seeds=self.run.suite.evaluation_seeds(counts[task.name]),
                )
                for task in self.tasks
                if counts.get(task.name)
            ]
            episodes = rollouts(self.policy, lanes, self.streams, finished=self._rolled_out)
        self.folder.add_episodes(after, index, [task.name for task in self.tasks], episodes)
        return episodes

    def _losses(self, after: str, index: int) -> list[dict[str, Any]]:
        learnt = self.tasks if after == JOINT_ROW else self.tasks[: index + 1]
        return phase_loss_rows(
            [self.materials[task.name] for task in learnt],
            PolicyLearner(
                policy=self.policy,
                frames=self.heldout,
                fit=self.run.fit,
                streams=self.streams,
                accelerator=self.learner.accelerator,
            ),
            after=after,
            after_index=index,
        )

    def _report(self, after: str, index: int, loss: float, episodes: Sequence[Episode]) -> None:
        counts: dict[str, list[int]] = {}
        for episode in episodes:
            tally = counts.setdefault(episode.task, [0, 0])
            tally[0] += episode.success
            tally[1] += 1
        event = {"kind": "task", "task": after, "index": index, "loss": loss, "counts": counts}
        self.notify(event)

    def _progress(self, step: int, steps: int, loss: float) -> None:
        if step % 10 == 0 or step == steps:
            self.notify({"kind": "step", "step": step, "steps": steps, "loss": loss})

    def _rolled_out(self, episode: Episode) -> None:
        self.notify({"kind": "episode", "task": episode.task, "success": episode.success})

    def _timed(self, name: str) -> _Timer:
        return _Timer(self.seconds, name)


@dataclass(eq=False)
class _Timer:
    """Adds the processor time of a block to a named total."""

    seconds: dict[str, float]
    name: str
    started: float = 0.0

    def __enter__(self) -> None:
        self.started = time.process_time()

    def __exit__(self, *_: object) -> None:
        spent = time.process_time() - self.started
        self.seconds[self.name] = self.seconds.get(self.name, 0.0) + spent


def run_cell(run: Run, folder: Path, notify: Notify = lambda event: None) -> None:
    """Run one cell from start to end in this process."""
    Cell(run=run, folder=CellFolder(folder), notify=notify).execute()
