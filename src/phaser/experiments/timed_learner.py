"""A learner that notes how long its training took, apart from what a method does between tasks."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.memory import PreparedTask
from phaser.core.ports import Sampler
from phaser.experiments.learner import PolicyLearner, PolicyProbe
from phaser.experiments.processor_time import ProcessorTime
from phaser.methods.penalty import Penalised, Penalty
from phaser.training.frames import FrameTable

STEPS, TRANSITIONS = "steps", "transitions"
"""Names in timing.json: how many training steps were made, and how many tasks learnt in a row."""
TRAINING, STREAM = "learn_cpu_s", "stream_cpu_s"
"""The time of the steps alone, and with drawing, keeping and the penalty at both ends of a task."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TimedLearner:
    """The learner of a stream (`training.stream.Learner`)."""

    learner: PolicyLearner
    spent: ProcessorTime

    @property
    def policy(self) -> Penalised:
        return self.learner.policy

    @property
    def frames(self) -> FrameTable:
        return self.learner.frames

    def learn(self, task: PreparedTask, sampler: Sampler, penalty: Penalty) -> float:
        with self.spent.noted(TRAINING):
            return self.learner.learn(task, sampler, penalty)

    def probe(self, task: PreparedTask) -> PolicyProbe:
        return self.learner.probe(task)
