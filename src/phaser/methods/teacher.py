"""A policy with the trained weights of an earlier moment, sharing all that is frozen."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from phaser.core.policy import TrainablePolicy
from phaser.methods.evaluating import evaluating
from phaser.methods.penalty import RuleState


class Teacher:
    """Call it with a batch for what the earlier policy's method `read` says, without gradients."""

    def __init__(self, policy: TrainablePolicy, weights: RuleState, *, read: str) -> None:
        self._reading = _Reading(policy, read)
        self.weights = {f"policy.{name}": weight for name, weight in weights.items()}

    @torch.no_grad()
    def __call__(self, batch: Any) -> Tensor:
        with evaluating(self._reading):
            said: Tensor = torch.func.functional_call(self._reading, self.weights, (batch,))
        return said


class _Reading(nn.Module):
    """Torch replaces the weights of a module while its `forward` runs, so `read` becomes one."""

    def __init__(self, policy: TrainablePolicy, read: str) -> None:
        super().__init__()
        self.policy = policy
        self._read = read

    def forward(self, batch: Any) -> Tensor:
        said: Tensor = getattr(self.policy, self._read)(batch)
        return said
