"""What a policy does on frames, as it is now."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float

from phaser.methods.penalty import Tensor


def answers(policy: Any, batch: Any) -> Float[Tensor, "batch chunk action"]:
    """Its actions, without a trace for gradients and out of training mode."""
    import torch

    from phaser.methods.evaluating import evaluating

    with torch.no_grad(), evaluating(policy):
        said: Tensor = policy.outputs(batch)
    return said
