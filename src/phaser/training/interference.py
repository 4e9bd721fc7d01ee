"""Loss increases after a virtual step (maximally interfered retrieval, the paper's MIR baseline).

Nothing here writes to the policy: copies of its trained weights, in 32 bits or more, are moved and
stand in for them during a forward pass. So the weights keep their bits whatever happens, a step
too small for bfloat16 still counts, and a reducer's hooks on the weights (DDP, ZeRO-2) see nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from jaxtyping import Float64
from torch import Tensor, nn
from torch.func import functional_call

from phaser.core.errors import BadInput
from phaser.core.policy import Batch, TrainablePolicy
from phaser.core.streams import Stream
from phaser.methods.penalty import trained_weights

Weights = dict[str, Tensor]
"""Trained weights, or their gradient, by name."""


def _module(policy: TrainablePolicy) -> nn.Module:
    """A policy is a torch module, which its port, written without torch, cannot say."""
    return cast(nn.Module, policy)


def precise_weights(policy: TrainablePolicy) -> Weights:
    """What training moves, in 32 bits or more; where it has them already, no copy is made."""
    return {
        name: weight.detach().to(torch.promote_types(weight.dtype, torch.float32))
        for name, weight in trained_weights(policy).items()
    }


def fresh_gradient(
    policy: TrainablePolicy, batch: Batch, noise: Stream, *, out_of: int | None
) -> Weights:
    """Gradient of the batch's summed losses divided by `out_of`, the size of the global batch; of
    their mean where it is None."""
    weights = {name: value.requires_grad_() for name, value in precise_weights(policy).items()}
    with torch.enable_grad():
        losses = functional_call(_module(policy), weights, (batch, noise))
        loss = losses.sum() / (out_of or len(losses))
        gradients = torch.autograd.grad(loss, [*weights.values()], allow_unused=True)
    return {
        name: torch.zeros_like(weight) if gradient is None else gradient
        for (name, weight), gradient in zip(weights.items(), gradients, strict=True)
    }


def left_gradient(policy: TrainablePolicy) -> Weights:
    """The gradient of the step that was just made; weights that had no part in it have none."""
    gradient = {
        name: weight.grad.detach()
        for name, weight in trained_weights(policy).items()
        if weight.grad is not None
    }
    if not gradient:
        raise BadInput(
            "no gradient is left of the step before, so a snapshot cannot be scored; ask before "
            "gradients are cleared, or use the variant 'virtual'"
        )
    return gradient


@torch.no_grad()
def loss_increases(
    policy: TrainablePolicy,
    batch: Batch,
    noise: Stream,
    *,
    gradient: Mapping[str, Tensor],
    learning_rate: float,
) -> Float64[Tensor, "batch"]:
    """Per-sample loss after the virtual step minus before it, in two forward passes.

    Both see the same noise and time: their difference is far smaller than what other noise does.
    """
    weights = precise_weights(policy)
    moved = {
        name: weight - learning_rate * gradient[name].to(weight.dtype)
        for name, weight in weights.items()
        if name in gradient
    }
    before = functional_call(_module(policy), weights, (batch, noise))
    after = functional_call(_module(policy), weights | moved, (batch, noise))
    increases: Tensor = after.double() - before.double()
    return increases
