"""Tasks one after the other: draw, learn, keep. Yields after each task; evaluation is outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Probe, Sampler
from phaser.core.streams import Streams
from phaser.methods.method import Method
from phaser.methods.penalty import (
    BegunTask,
    FinishedTask,
    Imagining,
    Left,
    Penalised,
    Penalty,
)
from phaser.training.frames import FrameTable

EMPTY = Memory()
NOTHING_LEFT: Left = {}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskFinished:
    """A task was learnt: what the memory now holds, and what was rehearsed meanwhile."""

    task: PreparedTask
    memory: Memory
    sampler: Sampler
    past: Memory
    """The memory that the sampler drew from, before this task left its own frames."""
    loss: float
    left: Left = field(default_factory=dict)
    """What this task and the earlier ones left for the method's penalty."""


class Learner(Protocol):
    """Trains the policy on one task and lets a rule ask it about stored frames meanwhile."""

    @property
    def policy(self) -> Penalised: ...

    @property
    def frames(self) -> FrameTable: ...

    def learn(self, task: PreparedTask, sampler: Sampler, penalty: Penalty) -> float: ...

    def probe(self, task: PreparedTask) -> Probe: ...


def learn_stream(
    tasks: Iterable[PreparedTask],
    learner: Learner,
    method: Method,
    streams: Streams,
    *,
    memory: Memory = EMPTY,
    left: Left = NOTHING_LEFT,
) -> Iterator[TaskFinished]:
    """Learn the tasks in order with one method; `memory` and `left` are of earlier tasks."""
    for task in tasks:
        name = task.task.name
        sampler = method.draw.for_task(
            memory, task, streams.named("draw", name), learner.probe(task)
        )
        penalty = method.penalty.for_task(learner.policy, left)
        rehearsed: Sampler = sampler
        if isinstance(method.penalty, Imagining):
            begun = BegunTask(
                task=task,
                policy=learner.policy,
                memory=memory,
                frames=learner.frames.tasks[name].refs(name),
                rows=learner.frames,
                stream=streams.named("imagined", name),
            )
            rehearsed = method.penalty.imagined(sampler, left, begun)
        loss = learner.learn(task, rehearsed, penalty)
        past = memory
        buckets = method.keep.select(task, streams.named("keep", name))
        memory = memory.with_buckets(buckets)
        done = FinishedTask(
            task=name,
            policy=learner.policy,
            rows=learner.frames,
            frames=learner.frames.tasks[name].refs(name),
            kept=[ref for bucket in buckets for ref in bucket.frames],
            stream=streams.named("penalty", name),
        )
        left = method.penalty.after_task(left, done)
        yield TaskFinished(
            task=task, memory=memory, sampler=sampler, past=past, loss=loss, left=left
        )
