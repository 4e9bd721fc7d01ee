"""One cell: a method learns a stream of tasks with one seed; its folder holds all that is known.

A cell that was cut off, wherever that was, goes on from its last checkpoint and ends with the same
bits as one that was not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from phaser.core.demonstration import Task
from phaser.core.locks import exclusive
from phaser.core.memory import Memory, PreparedTask
from phaser.core.streams import Streams
from phaser.evaluation.matrix import JOINT_ROW
from phaser.evaluation.messages import Job
from phaser.evaluation.rollouts import Episode, rollouts
from phaser.evaluation.simulators import Simulators
from phaser.evaluation.throughput import Throughput
from phaser.experiments.allocator import keep_freed_memory
from phaser.experiments.folder import CellFolder
from phaser.experiments.kept_frames import KeptFrames, method_for
from phaser.experiments.learner import PolicyLearner
from phaser.experiments.phase_probe import phase_loss_rows
from phaser.experiments.prepare import TaskMaterial, material
from phaser.experiments.resume import Checkpoints
from phaser.experiments.run import Run
from phaser.experiments.timed_learner import (
    STEPS,
    STREAM,
    TRAINING,
    TRANSITIONS,
    TimedLearner,
)
from phaser.memory.certificate import certificate
from phaser.methods.method import Method
from phaser.methods.penalty import Left
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
    simulators: Simulators
    """How many there are changes how long a cell takes, never what it finds."""
    frames: FrameTable = field(default_factory=FrameTable)
    heldout: FrameTable = field(default_factory=FrameTable)
    materials: dict[str, TaskMaterial] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)
    """With as many frames as are kept of each task."""
    steps_made: int = 0
    """Of the task that is being learnt, by this process."""

    def __post_init__(self) -> None:
        self.checkpoints = Checkpoints(self.folder.path)
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
            keeper=self.checkpoints,
        )

    def prepare(self, task: Task) -> PreparedTask:
        """Read a task when its turn comes; recorded or encoded now if nobody did before."""
        with self.checkpoints.spent.timed("prepare_s"):
            self.notify({"kind": "prepare", "task": task.name})
            made = material(self.run, task, self.policy)
            self.checkpoints.check_demonstrations(task.name, made.images_sha256)
            self.materials[task.name] = made
            self.frames.tasks[task.name] = made.train
            self.heldout.tasks[task.name] = made.heldout
            stream = self.streams.named("keep", task.name)
            self.methods[task.name] = method_for(self.run, made, stream)
        return made.prepared

    def execute(self) -> None:
        learnt = self._begin()
        kept = KeptFrames(path=self.folder.path / "memory", run=self.run)
        if self.run.method.joint:
            self._joint()
        else:
            self._stream(len(learnt), kept)
        prepared = [self.materials[task.name].prepared for task in self.tasks]
        self.folder.write_budget(certificate(kept.rows(prepared)))
        self.folder.finish(self.checkpoints.spent.totals())
        self.notify({"kind": "done"})

    def _begin(self) -> list[str]:
        """Start, or take up what an earlier process left; the stages of training that are done."""
        stages = [JOINT_ROW] if self.run.method.joint else [task.name for task in self.tasks]
        learnt = stages[: self.checkpoints.position.task_index]
        if self.checkpoints.is_begun:
            self.folder.go_on(self.run, learnt)
        else:
            self._try_bytes()
            self.folder.start(self.run)
        self.checkpoints.remove_unneeded()
        self.checkpoints.check_contract(self.policy.contract)
        if learnt:
            self.checkpoints.load_start(
                self.folder.weights(len(learnt) - 1, learnt[-1]), self.policy
            )
        return learnt

    def _try_bytes(self) -> None:
        """Whether a budget in bytes has room for every task, before the first is learnt."""
        for task in self.tasks if self.run.bytes_per_task is not None else ():
            self.prepare(task)

    def _stream(self, num_learnt: int, kept: KeptFrames) -> None:
        memory, left = kept.restored(self.checkpoints.position.memory), self.checkpoints.left()
        for task in self.tasks[:num_learnt]:
            self.prepare(task)
        for index, task in enumerate(self.tasks[num_learnt:], num_learnt):
            made = self.materials.get(task.name)
            prepared = made.prepared if made else self.prepare(task)
            finished = self._learn(prepared, memory, left)
            memory, left = finished.memory, finished.left
            self._after(index, finished, kept)

    def _learn(self, task: PreparedTask, memory: Memory, left: Left) -> TaskFinished:
        spent, method = self.checkpoints.spent, self.methods[task.task.name]
        learner, self.steps_made = TimedLearner(learner=self.learner, spent=spent), 0
        with spent.noted(STREAM):
            [finished] = learn_stream(
                [task], learner, method, self.streams, memory=memory, left=left
            )
        spent.note(**{TRANSITIONS: 1, STEPS: self.steps_made})
        return finished

    def _joint(self) -> None:
        prepared = [self.prepare(task) for task in self.tasks]
        if self.checkpoints.position.task_index:
            return
        nothing = NoDraw().for_task(
            Memory(), prepared[0], self.streams.named("draw"), self.learner.probe(prepared[0])
        )
        with self.checkpoints.spent.noted(TRAINING):
            loss = self.learner.learn_jointly(prepared, nothing)
        self.checkpoints.spent.note(**{STEPS: self.steps_made})
        self._save(0, JOINT_ROW)
        last = len(self.tasks) - 1
        every = self.run.evaluation.rollouts_per_task
        episodes = self._evaluate(JOINT_ROW, last, {task.name: every for task in self.tasks})
        self.folder.write_losses(self._losses(JOINT_ROW, last))
        self.checkpoints.finish_task(self.folder.weights(0, JOINT_ROW), {}, {})
        self._report(JOINT_ROW, last, loss, episodes)

    def _after(self, index: int, finished: TaskFinished, kept: KeptFrames) -> None:
        """Keep and measure after a task: the task itself in full, the earlier ones as asked for."""
        name = finished.task.task.name
        self._save(index, name)
        with self.checkpoints.spent.timed("keep_s"):
            buckets = finished.memory.buckets[len(finished.past.buckets) :]
            kept.add(self.materials[name], buckets)
        self.folder.add_routing(name, finished)
        episodes = self._evaluate(name, index, self._rollout_counts(index))
        with self.checkpoints.spent.timed("probe_s"):
            self.folder.write_losses(self._losses(name, index))
        weights = self.folder.weights(index, name)
        self.checkpoints.finish_task(weights, kept.shards(), finished.left)
        self._report(name, index, finished.loss, episodes)

    def _save(self, index: int, name: str) -> None:
        self.folder.save_policy(index, name, self.policy)
        self.folder.write_steps(index, name, self.checkpoints.steps)

    def _rollout_counts(self, index: int) -> dict[str, int]:
        settings = self.run.evaluation
        learnt = [task.name for task in self.tasks[: index + 1]]
        if index == len(self.tasks) - 1:
            return dict.fromkeys(learnt, settings.rollouts_per_task)
        return dict.fromkeys(learnt, settings.earlier_rollouts) | {
            learnt[-1]: settings.learnt_rollouts
        }

    def _evaluate(self, after: str, index: int, counts: dict[str, int]) -> list[Episode]:
        with self.checkpoints.spent.timed("rollout_s"):
            episodes, throughput = rollouts(
                self.policy,
                self.run.suite,
                self._jobs(counts),
                self.streams,
                simulators=self.simulators,
                finished=self._rolled_out,
            )
        self.checkpoints.spent.add("rollout_s", throughput.spent.processor_s)
        self.checkpoints.spent.note(**throughput.amounts)
        self.folder.add_episodes(after, index, [task.name for task in self.tasks], episodes)
        return episodes

    def _jobs(self, counts: dict[str, int]) -> list[Job]:
        suite = self.run.suite
        return [
            Job(task=task, env_seed=env_seed, horizon=suite.horizon(task))
            for task in self.tasks
            if counts.get(task.name)
            for env_seed in suite.evaluation_seeds(counts[task.name])
        ]

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
        self.steps_made += 1
        if step % 10 == 0 or step == steps:
            self.notify({"kind": "step", "step": step, "steps": steps, "loss": loss})

    def _rolled_out(self, episode: Episode, throughput: Throughput) -> None:
        self.notify(
            {
                "kind": "episode",
                "task": episode.task,
                "success": episode.success,
                "episodes": throughput.episodes,
                "planned": throughput.planned,
                "episodes_per_s": throughput.episodes_per_s,
                "seconds_left": throughput.seconds_left,
                "shares": throughput.shares,
            }
        )


def run_cell(
    run: Run,
    folder: Path,
    notify: Notify = lambda event: None,
    *,
    simulators: Simulators | None = None,
) -> None:
    """Run one cell to its end in this process, from wherever an earlier process left it.

    Without simulators that are kept for several cells it has one of its own.
    """
    with exclusive(folder / ".lock", what="run folder"), ExitStack() as stack:
        kept = simulators or stack.enter_context(Simulators())
        cell = Cell(run=run, folder=CellFolder(folder), notify=notify, simulators=kept)
        cell.execute()
