"""The questions that rules may ask the policy while a task is learnt (`core.ports.Probe`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from phaser.core.demonstration import FrameRef
from phaser.core.ports import VirtualStep
from phaser.core.streams import Stream
from phaser.methods.evaluating import evaluating
from phaser.training.interference import (
    Weights,
    fresh_gradient,
    left_gradient,
    loss_increases,
)
from phaser.training.learner import PolicyLearner


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PolicyProbe:
    """Asks the bare policy; all processes make the same passes and agree on the answers."""

    learner: PolicyLearner
    task: str

    @property
    def num_steps(self) -> int:
        return self.learner.fit.steps_per_task

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
                policy.batch(self.learner.frames.samples(refs)),
                self._noise("interference", step),
                gradient=gradient,
                learning_rate=learning_rate,
            )
        return self._agreed(increases)

    def _gradient(self, step: int) -> Weights:
        """Gradient of the current task's frames of this step; every process takes its share."""
        learner, accelerator = self.learner, self.learner.accelerator
        current = learner.fit.current_of_step(
            step,
            learner.frames.tasks[self.task].refs(self.task),
            learner.streams.named("current", self.task),
            learner.fit.num_rehearsed,
        )
        mine = learner.own(range(len(current)))
        # A process without a share makes its pass all the same, for nothing: others would wait.
        policy, places = learner.policy, mine or [0]
        gradient = fresh_gradient(
            policy,
            policy.batch(learner.samples_at(places, current)),
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
            values = accelerator.reduce(values.to(accelerator.device), reduction="mean")
        return values.cpu().numpy()

    def _noise(self, name: str, step: int) -> Stream:
        return Stream(self.learner.streams.named(name, self.task).key + step)
