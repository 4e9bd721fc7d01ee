"""One method at the last of several tasks: its memory, its policy and what earlier tasks left."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from accelerate import Accelerator

from benchmarks.overhead_turns import SilentProbe, TimedProbe, Turn
from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Draw, Probe, Sampler
from phaser.core.streams import Stream as Numbers
from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.methods.method import Method
from phaser.methods.penalty import Penalty
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable, TaskFrames
from phaser.training.learner import Learnt, Moments, PolicyLearner, Progress
from phaser.training.probe import PolicyProbe
from phaser.training.stream import MethodState, TaskStream

BUDGET = Budget()


@dataclass(eq=False)
class Pause:
    """A learner that trains nothing and notes what it would train; the rest is another's.

    So the shipped stream does all that happens between two tasks, whatever a rule asks for.
    """

    learner: PolicyLearner
    sampler: Sampler | None = None
    penalty: Penalty | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.learner, name)

    def learn(
        self, task: PreparedTask, sampler: Sampler, penalty: Penalty, *, moments: Moments
    ) -> Learnt:
        self.sampler, self.penalty = sampler, penalty
        return Learnt(loss=0.0, moments=moments)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking(Draw):
    """A rule whose samplers ask another probe than the stream's own."""

    draw: Draw
    probe: Probe

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Numbers, probe: Probe
    ) -> Sampler:
        return self.draw.for_task(memory, task, stream, self.probe)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Stream:
    """Tasks that were learnt, and the one that is being learnt, in order."""

    tasks: Sequence[PreparedTask]
    frames: Mapping[str, TaskFrames]

    @property
    def past(self) -> Sequence[PreparedTask]:
        return self.tasks[:-1]

    @property
    def current(self) -> PreparedTask:
        return self.tasks[-1]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Case:
    """A method that is about to learn the last task of a stream."""

    name: str
    method: Method
    stream: Stream
    policy: torch.nn.Module
    fit: Fit
    memory: Memory
    state: MethodState

    @classmethod
    def of(
        cls, name: str, method: Method, stream: Stream, policy: torch.nn.Module, fit: Fit
    ) -> "Case":
        """With a copy of the policy; the earlier tasks are kept by the method's own rules."""
        case = cls(
            name=name,
            method=method,
            stream=stream,
            policy=copy.deepcopy(policy),
            fit=fit,
            memory=Memory(),
            state=MethodState(),
        )
        if method.joint or not stream.past:
            return case
        *_, last = case.task_stream(Pause(case.learner()), method)(stream.past)
        return replace(case, memory=last.memory, state=last.state)

    def afresh(self) -> "Case":
        """The same with a policy of its own."""
        return replace(self, policy=copy.deepcopy(self.policy))

    @property
    def streams(self) -> Streams:
        return Streams(0)

    def learner(self, progress: Progress | None = None) -> PolicyLearner:
        return PolicyLearner(
            policy=self.policy,
            frames=FrameTable(dict(self.stream.frames)),
            fit=self.fit,
            streams=self.streams,
            accelerator=Accelerator(cpu=True),
            progress=progress,
        )

    def task_stream(self, pause: Pause, method: Method) -> TaskStream:
        return TaskStream(learner=pause, method=method, budget=BUDGET, streams=self.streams)

    def paused(self, learner: PolicyLearner, probe: Probe | None = None) -> Pause:
        """All that is done once for the last task beside training it, and what it would train."""
        pause, method = Pause(learner), self.method
        if probe is not None:
            method = replace(method, draw=Asking(draw=method.draw, probe=probe))
        learn = self.task_stream(pause, method)
        [_] = learn([self.stream.current], memory=self.memory, state=self.state)
        return pause

    def transition(self) -> Callable[[], object] | None:
        """What is done once per task beside training; a joint method has none of it."""
        learner = self.learner()
        return None if self.method.joint else lambda: self.paused(learner)

    def learning(self, *, steps: int, turn: Turn | None = None) -> Callable[[], object]:
        """The shipped learner's steps on the last task; a joint method's on all of them."""
        task, learner = self.stream.current, self.learner(turn)
        pause = self.paused(learner, None if turn is None else turn.probe)
        if turn is not None:
            turn.probe.forget()
        learnt = self.stream.tasks if self.method.joint else [task]
        names = [one.task.name for one in learnt]
        # The loop itself: a joint method would make so many steps for each of its tasks.
        return lambda: learner._train(
            [ref for name in names for ref in self.stream.frames[name].refs(name)],
            pause.sampler,
            pause.penalty,
            name=task.task.name,
            steps=steps,
        )

    def turn(self, *, steps: int) -> Turn:
        """The same, one step at a time."""
        probe = PolicyProbe(learner=self.learner(), task=self.stream.current.task.name)
        turn = Turn(TimedProbe(probe))
        turn.start(self.learning(steps=steps, turn=turn))
        return turn

    def questions(self) -> int:
        """How often a task's sampler asks the policy while the task is learnt."""
        probe = SilentProbe(num_steps=self.fit.steps_per_task)
        sampler = self.paused(self.learner(), probe).sampler
        probe.calls = 0
        for step in range(self.fit.steps_per_task):
            sampler.next(self.fit.num_rehearsed, step)
            if step + 1 < self.fit.steps_per_task:
                sampler.after_step(step)
        return probe.calls
