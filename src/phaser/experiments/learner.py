"""The policy, its frames and its optimiser, behind the calls that a stream and its rules need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from accelerate import Accelerator
from jaxtyping import Float
from torch import Tensor

from phaser.core.demonstration import FrameRef
from phaser.core.memory import PreparedTask
from phaser.core.ports import Sampler, VirtualStep
from phaser.core.streams import Stream, Streams
from phaser.experiments.interference import (
    Weights,
    fresh_gradient,
    left_gradient,
    loss_increases,
)
from phaser.methods.evaluating import evaluating
from phaser.methods.penalty import Penalty
from phaser.policies.tiny import TinyPolicy
from phaser.training.checkpoint import Keeper
from phaser.training.fit import NO_PENALTY, Fit, Progress
from phaser.training.frames import FrameTable

PROBE_BATCH = 256


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PolicyLearner:
    """Trains one policy in place."""

    policy: TinyPolicy
    frames: FrameTable
    fit: Fit
    streams: Streams
    accelerator: Accelerator
    progress: Progress | None = None
    keeper: Keeper | None = None

    def learn(self, task: PreparedTask, sampler: Sampler, penalty: Penalty = NO_PENALTY) -> float:
        name, refs = task.task.name, self.frames.tasks[task.task.name].refs(task.task.name)
        return self._fit(refs, sampler, name, penalty=penalty, steps=None)

    def learn_jointly(self, tasks: Sequence[PreparedTask], sampler: Sampler) -> float:
        """All tasks at once, for as many steps as they would have had one by one."""
        refs = [
            ref for task in tasks for ref in self.frames.tasks[task.task.name].refs(task.task.name)
        ]
        steps = self.fit.steps_per_task * len(tasks)
        return self._fit(refs, sampler, "all", penalty=NO_PENALTY, steps=steps)

    @torch.no_grad()
    def frame_losses(self, refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
        """Loss of single frames under the policy as it is now; its noise is the same every time."""
        noise = self.streams.named("probe")
        with evaluating(self.policy):
            losses = [
                self.policy(self.frames.batch(refs[start : start + PROBE_BATCH]), noise)
                for start in range(0, len(refs), PROBE_BATCH)
            ]
        # Numpy has no bfloat16.
        return torch.cat(losses).float().numpy() if losses else np.zeros(0, np.float32)

    def probe(self, task: PreparedTask) -> PolicyProbe:
        """What a rule may ask while this task is learnt."""
        name = task.task.name
        return PolicyProbe(learner=self, task=name, current=self.frames.tasks[name].refs(name))

    def _fit(
        self,
        refs: Sequence[FrameRef],
        sampler: Sampler,
        name: str,
        *,
        penalty: Penalty,
        steps: int | None,
    ) -> float:
        return self.fit(
            self.policy,
            current=refs,
            sampler=sampler,
            penalty=penalty,
            frames=self.frames,
            streams=self.streams,
            name=name,
            accelerator=self.accelerator,
            num_steps=steps,
            progress=self.progress,
            keeper=self.keeper,
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PolicyProbe:
    """Asks the bare policy (`core.ports.Probe`); all processes make the same passes and agree."""

    learner: PolicyLearner
    task: str
    current: Sequence[FrameRef]
    """All frames of the task."""

    def __call__(self, refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
        return self._agreed(torch.from_numpy(self.learner.frame_losses(refs)))

    def interference(
        self,
        refs: Sequence[FrameRef],
        *,
        step: int,
        learning_rate: float,
        variant: VirtualStep = "virtual",
    ) -> Float[np.ndarray, "count"]:
        policy = self.learner.policy
        with evaluating(policy):
            gradient = self._gradient(step) if variant == "virtual" else left_gradient(policy)
            increases = loss_increases(
                policy,
                self.learner.frames.batch(refs),
                self._noise("interference", step),
                gradient=gradient,
                learning_rate=learning_rate,
            )
        return self._agreed(increases)

    def _gradient(self, step: int) -> Weights:
        """Of the current task's frames of this step; every process takes its share of them."""
        learner, accelerator = self.learner, self.learner.accelerator
        current = learner.fit.current_of_step(
            step,
            self.current,
            learner.streams.named("current", self.task),
            learner.fit.num_rehearsed,
        )
        mine = current[accelerator.process_index :: accelerator.num_processes]
        # A process without a share makes its pass all the same, for nothing: others would wait.
        gradient = fresh_gradient(
            learner.policy,
            learner.frames.batch(mine or current[:1]),
            self._noise("virtual step", step),
            out_of=len(current),
        )
        if accelerator.num_processes == 1:
            return gradient
        share = {name: value * bool(mine) for name, value in gradient.items()}
        return dict(accelerator.reduce(share, reduction="sum"))

    def _agreed(self, values: Tensor) -> Float[np.ndarray, "count"]:
        """The mean over all processes, so that a difference in rounding cannot part their draws."""
        accelerator = self.learner.accelerator
        if accelerator.num_processes > 1:
            values = accelerator.reduce(values, reduction="mean")
        return values.numpy()

    def _noise(self, name: str, step: int) -> Stream:
        return Stream(self.learner.streams.named(name, self.task).key + step)
