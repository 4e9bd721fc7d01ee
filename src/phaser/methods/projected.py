"""A-GEM (Chaudhry et al. 2019): never step against the mean gradient of the rehearsed frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float

from phaser.core.policy import TrainablePolicy
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import (
    Penalty,
    PenaltyRule,
    RuleState,
    Tensor,
    TrainingStep,
    trained_weights,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Projected(PenaltyRule):
    """Current frames give the gradient; rehearsed ones only the half-space that it must stay in.

    To first order a step along it does not raise the rehearsed frames' mean loss. The optimiser
    scales the gradient afterwards (AdamW), as in the usual implementations.
    """

    @property
    def needs_whole_batch(self) -> bool:
        """The gradient is projected as a whole."""
        return True

    @property
    def reads_gradient(self) -> bool:
        return True

    def for_task(self, policy: TrainablePolicy, state: RuleState) -> Penalty:
        return _Projecting(weights=tuple(trained_weights(policy).values()))


def project(
    gradient: Float[Tensor, "weights"], reference: Float[Tensor, "weights"]
) -> Float[Tensor, "weights"]:
    """The nearest vector to `gradient` that does not point against `reference`."""
    along = gradient.double() @ reference.double()
    if along >= 0:
        return gradient
    return gradient - (along / reference.double().square().sum()).to(gradient.dtype) * reference


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Projecting:
    weights: Sequence[Any]

    def backward(self, step: TrainingStep) -> Float[Tensor, ""]:
        if not step.is_rehearsing:
            return NoPenalty().backward(step)
        import torch

        old, new = step.losses.tensor_split([len(step.rehearsed)])
        # Asked for by name, so that wrappers which sum gradients over processes do not see it.
        asked = torch.autograd.grad(
            _mean(old), self.weights, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        step.backward(_mean(new))
        moved = [k for k, weight in enumerate(self.weights) if weight.grad is not None]
        reference = step.mean(torch.cat([asked[k].flatten() for k in moved]))
        gradient = torch.cat([self.weights[k].grad.flatten() for k in moved])
        sizes = [asked[k].numel() for k in moved]
        parts = torch.split(project(gradient, reference), sizes)
        for k, part in zip(moved, parts, strict=True):
            self.weights[k].grad.copy_(part.view_as(asked[k]))
        return step.losses.mean()


def _mean(losses: Float[Tensor, "some"]) -> Float[Tensor, ""]:
    """The mean of these losses; 0, still with a gradient, in a process that has none of them."""
    return losses.sum() / max(1, len(losses))
