"""Tasks one after the other: draw, learn, keep. Yields after each task; evaluation is outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Probe, Sampler
from phaser.core.streams import Streams
from phaser.methods.method import Method

EMPTY = Memory()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskFinished:
    """A task was learnt: what the memory now holds, and what was rehearsed meanwhile."""

    task: PreparedTask
    memory: Memory
    sampler: Sampler
    past: Memory
    """The memory that the sampler drew from, before this task left its own frames."""
    loss: float


class Learner(Protocol):
    """Trains the policy on one task and lets a rule ask it about stored frames meanwhile."""

    def learn(self, task: PreparedTask, sampler: Sampler) -> float: ...

    def probe(self, task: PreparedTask) -> Probe: ...


def learn_stream(
    tasks: Iterable[PreparedTask],
    learner: Learner,
    method: Method,
    streams: Streams,
    *,
    memory: Memory = EMPTY,
) -> Iterator[TaskFinished]:
    """Learn the tasks in order with one method; `memory` is what earlier tasks left."""
    for task in tasks:
        name = task.task.name
        sampler = method.draw.for_task(
            memory, task, streams.named("draw", name), learner.probe(task)
        )
        loss = learner.learn(task, sampler)
        past = memory
        memory = memory.with_buckets(method.keep.select(task, streams.named("keep", name)))
        yield TaskFinished(task=task, memory=memory, sampler=sampler, past=past, loss=loss)
