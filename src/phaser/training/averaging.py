"""The mean of the weights over the last steps of a task: steadier than the last step alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from phaser.core.policy import Policy


@dataclass(slots=True, eq=False)
class WeightAverage:
    """A running sum of trained weights, in 64 bits, and how many steps it counts."""

    sums: dict[str, Tensor] = field(default_factory=dict)
    count: int = 0

    @torch.no_grad()
    def add(self, policy: Policy) -> None:
        """Count the weights as they are."""
        for name, value in policy.trained_state().items():
            if name in self.sums:
                self.sums[name] += value
            else:
                self.sums[name] = value.detach().double().clone()
        self.count += 1

    def apply(self, policy: Policy) -> None:
        """Give the policy the mean, if anything was counted."""
        if not self.count:
            return
        now = policy.trained_state()
        policy.load_trained_state(
            {name: (total / self.count).to(now[name].dtype) for name, total in self.sums.items()}
        )
