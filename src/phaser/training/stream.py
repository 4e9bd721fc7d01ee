"""Tasks one after the other: draw, learn, keep. Yields after each task; evaluation is outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from phaser.core.errors import BadInput
from phaser.core.memory import Memory, PreparedTask
from phaser.core.policy import NotOffered
from phaser.core.ports import Sampler, Sizes
from phaser.core.streams import Streams
from phaser.memory.budget import Budget, Kept
from phaser.methods.method import Method
from phaser.methods.penalty import FinishedTask, RuleState, Tensor
from phaser.methods.rehearse import BegunTask
from phaser.training.learner import STREAM, PolicyLearner
from phaser.training.probe import PolicyProbe

EMPTY = Memory()

Describe = Callable[[Memory, PreparedTask], tuple[Memory, PreparedTask]]
"""Gives the stored phases and the new task's the prototypes that drawing compares."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MethodState:
    """What the tasks so far left for the rules of a method; tensors, written to disk."""

    penalty: RuleState = field(default_factory=dict)
    rehearse: RuleState = field(default_factory=dict)
    moments: RuleState = field(default_factory=dict)
    """The optimiser's, where a fit keeps them from task to task."""

    def tensors(self) -> dict[str, Tensor]:
        """All of it under one name each."""
        parts = {name: getattr(self, name) for name in ("penalty", "rehearse", "moments")}
        return {f"{part}/{name}": value for part in parts for name, value in parts[part].items()}

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> MethodState:
        """The state that `tensors` gave these for."""
        parts: dict[str, dict[str, Tensor]] = {"penalty": {}, "rehearse": {}, "moments": {}}
        for key, value in tensors.items():
            part, _, name = key.partition("/")
            parts[part][name] = value
        return cls(**parts)


NOTHING_LEFT = MethodState()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskFinished:
    """A task was learnt: what the memory now holds, and what was rehearsed meanwhile."""

    task: PreparedTask
    kept: Kept
    sampler: Sampler
    past: Memory
    """The memory that the sampler drew from, before this task left its own frames."""
    loss: float
    state: MethodState = NOTHING_LEFT
    """What this task and the earlier ones left for the method's rules."""

    @property
    def memory(self) -> Memory:
        """The memory with the frames of this task."""
        return self.kept.memory


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskStream:
    """Learns tasks in order with one method."""

    learner: PolicyLearner
    method: Method
    budget: Budget | None
    """None for a method that keeps nothing."""
    streams: Streams
    sizes: Callable[[PreparedTask], Sizes] | None = None
    """Gives the encoded size of a frame, stored or of the task; needed for a budget in bytes."""
    describe: Describe | None = None
    """Computes prototypes anew when a task begins; None: those that were stored are compared."""

    def __call__(
        self,
        tasks: Iterable[PreparedTask],
        *,
        memory: Memory = EMPTY,
        state: MethodState = NOTHING_LEFT,
    ) -> Iterator[TaskFinished]:
        """Learn the tasks; `memory` and `state` are what earlier tasks left."""
        self.require_policy()
        for task in tasks:
            with self.learner.timed(STREAM):
                finished = self._learn(task, memory, state)
            yield finished
            memory, state = finished.memory, finished.state

    def require_policy(self) -> None:
        """Refuse a policy that lacks what a rule of the method needs, before anything is learnt."""
        policy = self.learner.policy
        for name, rule in self.method.asks.items():
            if name not in policy.offers:
                raise NotOffered(policy, name, rule=rule)
        parts = self.learner.fit.gradient_accumulation
        if parts > 1 and self.method.penalty.needs_whole_batch:
            raise BadInput(
                f"{self.method.name} needs the gradient of a whole batch at once, but "
                f"gradient_accumulation is {parts}; set it to 1 and make the batch smaller"
            )

    def _learn(self, task: PreparedTask, memory: Memory, state: MethodState) -> TaskFinished:
        method, learner, name = self.method, self.learner, task.task.name
        frames = learner.frames.tasks[name].refs(name)
        past, described = memory, task
        if self.describe is not None:
            past, described = self.describe(memory, task)
        sampler = method.draw.for_task(
            past,
            described,
            self.streams.named("draw", name),
            PolicyProbe(learner=learner, task=name),
        )
        penalty = method.penalty.for_task(learner.policy, state.penalty)
        begun = BegunTask(
            task=described,
            policy=learner.policy,
            memory=past,
            frames=frames,
            rows=learner.frames,
            stream=self.streams.named("imagined", name),
        )
        rehearsed = method.rehearse.for_task(sampler, state.rehearse, begun)
        learnt = learner.learn(task, rehearsed, penalty, moments=state.moments)
        kept = self._keep(described, memory)
        done = FinishedTask(
            task=name,
            policy=learner.policy,
            rows=learner.frames,
            frames=frames,
            kept=[ref for bucket in kept.buckets for ref in bucket.frames],
            stream=self.streams.named("penalty", name),
        )
        left = MethodState(
            penalty=method.penalty.after_task(state.penalty, done),
            rehearse=method.rehearse.after_task(state.rehearse, done),
            moments=learnt.moments,
        )
        return TaskFinished(
            task=task, kept=kept, sampler=sampler, past=past, loss=learnt.loss, state=left
        )

    def _keep(self, task: PreparedTask, memory: Memory) -> Kept:
        if self.budget is None:
            return Kept(buckets=(), memory=memory, evicted={})
        return self.budget.keep(
            self.method.keep,
            task,
            memory,
            stream=self.streams.named("keep", task.task.name),
            sizes=None if self.sizes is None else self.sizes(task),
        )
