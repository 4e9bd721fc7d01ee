"""One method at the last of several tasks: its memory, its policy and what earlier tasks left."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from accelerate import Accelerator

from benchmarks.overhead_turns import SilentProbe, TimedProbe, Turn
from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import MeasuringSampler, Probe, Sampler
from phaser.core.streams import Streams
from phaser.experiments.learner import PolicyLearner
from phaser.methods.method import Method
from phaser.methods.penalty import Left, Penalty
from phaser.training.fit import Fit, Progress
from phaser.training.frames import FrameTable, TaskFrames
from phaser.training.stream import learn_stream


@dataclass(eq=False)
class Pause:
    """A learner (`training.stream.Learner`) that trains nothing and notes what it would train.

    So the shipped stream does all that happens between two tasks, whatever a rule asks for.
    """

    learner: PolicyLearner
    asked: Probe | None = None
    sampler: Sampler | None = None
    penalty: Penalty | None = None

    @property
    def policy(self) -> torch.nn.Module:
        return self.learner.policy

    @property
    def frames(self) -> FrameTable:
        return self.learner.frames

    def probe(self, task: PreparedTask) -> Probe:
        return self.asked or self.learner.probe(task)

    def learn(self, task: PreparedTask, sampler: Sampler, penalty: Penalty) -> float:
        self.sampler, self.penalty = sampler, penalty
        return 0.0


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
    left: Left

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
            left={},
        )
        if method.joint or not stream.past:
            return case
        *_, last = learn_stream(stream.past, Pause(case.learner()), method, case.streams)
        return replace(case, memory=last.memory, left=last.left)

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

    def paused(self, learner: PolicyLearner, probe: Probe | None = None) -> "Pause":
        """All that is done once for the last task beside training it, and what it would train."""
        pause = Pause(learner, probe)
        [_] = learn_stream(
            [self.stream.current],
            pause,
            self.method,
            self.streams,
            memory=self.memory,
            left=self.left,
        )
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
        return lambda: self.fit(
            self.policy,
            current=[ref for name in names for ref in self.stream.frames[name].refs(name)],
            sampler=pause.sampler,
            penalty=pause.penalty,
            frames=learner.frames,
            streams=self.streams,
            name=task.task.name,
            accelerator=learner.accelerator,
            num_steps=steps,
            progress=turn,
        )

    def turn(self, *, steps: int) -> Turn:
        """The same, one step at a time."""
        turn = Turn(TimedProbe(self.learner().probe(self.stream.current)))
        turn.start(self.learning(steps=steps, turn=turn))
        return turn

    def questions(self) -> int:
        """How often a task's sampler asks the policy while the task is learnt."""
        probe = SilentProbe()
        sampler = self.paused(self.learner(), probe).sampler
        probe.calls = 0
        for step in range(self.fit.steps_per_task):
            sampler.next(self.fit.num_rehearsed, step)
            if isinstance(sampler, MeasuringSampler) and step + 1 < self.fit.steps_per_task:
                sampler.after_step(step)
        return probe.calls
