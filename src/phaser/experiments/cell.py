"""One cell: a method learns a stream of tasks with one seed; its folder holds all that is known.

A cell that was cut off, wherever that was, goes on from its last checkpoint and ends with the same
bits as one that was not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import torch

from phaser.core.demonstration import Task
from phaser.core.memory import Memory, PreparedTask
from phaser.core.processes import is_first_process
from phaser.core.sharding import check_launcher
from phaser.core.streams import Streams
from phaser.evaluation.matrix import JOINT_ROW
from phaser.evaluation.simulators import Simulators
from phaser.experiments.allocator import keep_freed_memory
from phaser.experiments.events import Finished, Notify, Prepared, Stepped, ignore, telling
from phaser.experiments.filming import Filming
from phaser.experiments.folder import CellFolder
from phaser.experiments.holding import held
from phaser.experiments.kept_frames import KeptFrames, check_filled
from phaser.experiments.measuring import Measuring
from phaser.experiments.prepare import Preparation
from phaser.experiments.resume import Checkpoints
from phaser.experiments.run import Run
from phaser.experiments.traces import Traces
from phaser.experiments.tracking import tracked
from phaser.memory.certificate import certificate
from phaser.routing.nothing import NoDraw
from phaser.training.frames import FrameTable
from phaser.training.learner import PolicyLearner
from phaser.training.material import TaskMaterial
from phaser.training.policy_sight import sight_of_policy
from phaser.training.probe import PolicyProbe
from phaser.training.processes import accelerator_for
from phaser.training.stream import TaskFinished, TaskStream

STEPS, TRANSITIONS = "steps", "transitions"
"""Names in timing.json: how many training steps were made, and how many tasks learnt in a row."""


@dataclass(kw_only=True, eq=False)
class Cell:
    """Everything that lives while a cell runs."""

    run: Run
    path: Path
    """The folder of the cell."""
    notify: Notify
    simulators: Simulators
    """Simulator processes; their number changes how long a cell takes, never what it finds."""
    traces: Traces = field(default_factory=Traces)
    frames: FrameTable = field(default_factory=FrameTable)
    materials: dict[str, TaskMaterial] = field(default_factory=dict)
    steps_made: int = 0
    """Steps of the task that is being learnt, by this process."""

    def __post_init__(self) -> None:
        run = self.run
        torch.set_num_threads(1)
        keep_freed_memory()
        self.streams = Streams(run.seed)
        self.tasks = run.suite.tasks()
        self.contract = run.suite.contract
        self.policy = run.policy.build(self.contract, self.streams.named("weights"))
        trackers = self.traces.trackers
        self.accelerator = accelerator_for(self.policy, trackers=trackers, folder=self.path)
        writes = self.accelerator.is_main_process
        self.folder = CellFolder(self.path, writes=writes)
        self.checkpoints = Checkpoints(self.path, writes=writes)
        length = self.policy.contract["chunk_length"]
        self.preparation = Preparation.of(run.suite, run.policy, run.encoders, chunk_length=length)
        self.learner = PolicyLearner(
            policy=self.policy,
            frames=self.frames,
            fit=run.fit,
            streams=self.streams,
            accelerator=self.accelerator,
            progress=self._progress,
            checkpointer=self.checkpoints,
            timed=self.checkpoints.spent.noted,
        )
        self.kept = KeptFrames(path=self.path / "memory", run=run, writes=writes)
        self.filming = Filming(folder=self.path, suite=run.suite, traces=self.traces, writes=writes)
        self.measuring = Measuring(
            run=run,
            policy=self.policy,
            tasks=self.tasks,
            folder=self.folder,
            checkpoints=self.checkpoints,
            simulators=self.simulators,
            filming=self.filming,
            streams=self.streams,
            accelerator=self.accelerator,
            notify=self.notify,
        )
        if trackers:
            learnt = self.checkpoints.position.task_index
            told = tracked(self.accelerator, run, self.path, learnt, self.notify)
            self.notify = self.measuring.notify = told
        # All have read where the run stands before the first process changes anything.
        self.accelerator.wait_for_everyone()

    def prepare(self, task: Task) -> PreparedTask:
        """Read a task when its turn comes; recorded or encoded now if nobody did before."""
        # The first process records and encodes; the others then find it done.
        first = self.accelerator.main_process_first()
        with self.checkpoints.spent.timed("prepare_s"), first:
            if task.name not in self.materials:
                told, segmenter = telling(self.notify, task.name), self.run.segmenter_of(task.name)
                made = self.preparation.material(task, segmenter, told)
                self.checkpoints.check_demonstrations(task.name, made.images_sha256)
                self.materials[task.name] = made
                self.measuring.heldout[task.name] = made.heldout
            made = self.materials[task.name]
            self.frames.tasks[task.name] = made.train
            if self.run.suite.has_simulator:
                self.checkpoints.note_horizon(task.name, self.run.suite.horizon(task))
        self.notify(Prepared(task=task.name))
        return made.prepared

    def execute(self) -> None:
        learnt = self._begin()
        if self.run.method.joint:
            self._joint()
        else:
            self._stream(len(learnt))
        prepared = [made.prepared for made in self.materials.values()]
        self.folder.write_budget(certificate(self.kept.rows(prepared)))
        self.folder.finish(self.checkpoints.spent.totals())
        self.notify(Finished())

    def _begin(self) -> list[str]:
        """Start, or take up what an earlier process left; the stages of training that are done."""
        stages = [JOINT_ROW] if self.run.method.joint else [task.name for task in self.tasks]
        self._finish_stored(stages)
        learnt = stages[: self.checkpoints.position.task_index]
        if self.checkpoints.is_begun:
            self.folder.go_on(self.run, learnt)
            self.filming.go_on(learnt)
        else:
            self._try_bytes()
            self.folder.start(self.run)
        self.checkpoints.remove_unneeded()
        self.checkpoints.check_contract(self.policy.contract)
        if learnt:
            weights = self.folder.weights(len(learnt) - 1, learnt[-1])
            self.checkpoints.load_start(weights, self.policy)
        return learnt

    def _finish_stored(self, stages: Sequence[str]) -> None:
        """Count a task as done that the memory holds: its process was killed right after that."""
        position, shards = self.checkpoints.position, self.kept.shards()
        index, budget = position.task_index, self.run.budget
        if not self.checkpoints.is_begun or index >= len(stages) or stages[index] not in shards:
            return
        if budget is not None and not budget.is_total:
            self.kept.restored(position.memory)
        self.checkpoints.finish_task(self.folder.weights(index, stages[index]), shards)

    def _try_bytes(self) -> None:
        """Check that every task fills a budget in bytes, before the first is learnt."""
        budget = self.run.budget
        if budget is None or budget.unit != "bytes" or budget.is_total:
            return
        for task in self.tasks:
            prepared = self.prepare(task)
            sizes = self.kept.sizes(self.materials.__getitem__)(prepared)
            stream = self.streams.named("keep", task.name)
            check_filled(self.run, self.materials[task.name], sizes, stream)

    def _stream(self, num_learnt: int) -> None:
        run = self.run
        learn = TaskStream(
            learner=self.learner,
            method=run.method,
            budget=run.budget,
            streams=self.streams,
            sizes=self.kept.sizes(self.materials.__getitem__),
            describe=sight_of_policy(self.learner) if run.encoders.is_policy else None,
        )
        learn.require_policy()
        memory = self.kept.restored(self.checkpoints.position.memory)
        self._take_up(self.tasks[:num_learnt], memory)
        state = self.checkpoints.method_state()
        rest = self._prepared(self.tasks[num_learnt:])
        for index, finished in enumerate(learn(rest, memory=memory, state=state), num_learnt):
            self._after(index, finished)

    def _take_up(self, learnt: Sequence[Task], memory: Memory) -> None:
        """Earlier tasks from the memory alone; demonstrations that are still there measure them."""
        gone = {task.name for task in self.run.suite.missing()}
        stored = memory.by_task()
        for task in learnt:
            if task.name not in gone:
                self.prepare(task)
            self.frames.tasks.pop(task.name, None)
            if task.name in stored:
                self.frames.tasks[task.name] = self.kept.frames(
                    task.name, contract=self.contract, front_end=self.preparation.front_end
                )

    def _prepared(self, tasks: Sequence[Task]) -> Iterator[PreparedTask]:
        for task in tasks:
            self.steps_made = 0
            yield self.prepare(task)

    def _joint(self) -> None:
        prepared = [self.prepare(task) for task in self.tasks]
        if self.checkpoints.position.task_index:
            return
        probe = PolicyProbe(learner=self.learner, task=prepared[0].task.name)
        nothing = NoDraw().for_task(Memory(), prepared[0], self.streams.named("draw"), probe)
        loss = self.learner.learn_jointly(prepared, nothing).loss
        self.checkpoints.spent.note(**{STEPS: self.steps_made})
        self._save(0, JOINT_ROW)
        self._wait()
        last = len(self.tasks) - 1
        episodes = self.measuring.after(JOINT_ROW, last)
        self.checkpoints.finish_task(self.folder.weights(0, JOINT_ROW), {})
        self.measuring.report(JOINT_ROW, last, loss, episodes)

    def _after(self, index: int, finished: TaskFinished) -> None:
        """Keep and measure after a task: the task itself in full, the earlier ones as asked for."""
        name, spent = finished.task.task.name, self.checkpoints.spent
        spent.note(**{TRANSITIONS: 1, STEPS: self.steps_made})
        self._save(index, name)
        self.folder.add_routing(name, finished)
        episodes = self.measuring.after(name, index)
        weights = self.folder.weights(index, name)
        self.checkpoints.write_state(weights, finished.state)
        # The memory comes last: it may make older tasks give way, so what was measured with them
        # must be on disk by then. Once it holds the task, the task is done.
        with spent.timed("keep_s"):
            made = self.materials[name]
            self.kept.add(made, finished.kept)
            self._wait()
            self.frames.tasks.pop(name)
            if finished.kept.buckets:
                self.frames.tasks[name] = self.kept.rehearsed(
                    made,
                    finished.kept,
                    contract=self.contract,
                    front_end=self.preparation.front_end,
                )
        self.checkpoints.finish_task(weights, self.kept.shards())
        self.measuring.report(name, index, finished.loss, episodes)

    def _wait(self) -> None:
        """Wait until the first process has written what all are about to read."""
        self.accelerator.wait_for_everyone()
        if not self.accelerator.is_main_process:
            self.kept.look()

    def _save(self, index: int, name: str) -> None:
        self.folder.save_policy(index, name, self.policy)
        self.folder.write_steps(index, name, self.checkpoints.steps)

    def _progress(self, step: int, steps: int, loss: float) -> None:
        self.steps_made += 1
        if step % 10 == 0 or step == steps:
            self.notify(Stepped(step=step, steps=steps, loss=loss))


def run_cell(
    run: Run,
    folder: Path,
    notify: Notify = ignore,
    *,
    simulators: Simulators | None = None,
    traces: Traces | None = None,
    wait_s: float = 0.0,
) -> None:
    """Run one cell to its end in this process, from wherever an earlier process left it.

    simulators: kept for several cells; without them the cell has one of its own.
    traces: what the cell leaves beside its results, such as clips of rollouts.
    wait_s: how long to wait for another process that holds the folder, or held it when it was lost.
    """
    check_launcher(
        run.method.name,
        reads_gradient=run.method.reads_gradient,
        asks_in_training=run.method.asks_in_training,
    )
    with ExitStack() as stack:
        tell = notify
        if is_first_process():
            tell = stack.enter_context(held(folder, notify, wait_s=wait_s))
        kept = simulators or stack.enter_context(Simulators())
        cell = Cell(run=run, path=folder, notify=tell, simulators=kept, traces=traces or Traces())
        cell.execute()
        cell.accelerator.wait_for_everyone()
        cell.accelerator.end_training()
