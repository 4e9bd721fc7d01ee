"""The answers of a policy: its actions on frames, as it is now."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from phaser.core.policy import TrainablePolicy
from phaser.core.samples import Samples


def answers(policy: TrainablePolicy, samples: Samples) -> Float[np.ndarray, "rows chunk action"]:
    """The policy's chunks for these frames, without gradients and out of training mode."""
    import torch

    from phaser.methods.evaluating import evaluating

    with torch.no_grad(), evaluating(policy):
        chunks: Float[np.ndarray, "rows chunk action"] = (
            policy.outputs(policy.batch(samples)).float().cpu().numpy()
        )
    return chunks
