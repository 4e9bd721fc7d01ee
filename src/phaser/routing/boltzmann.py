"""From priorities to probabilities: p ∝ exp(U / τ) (paper 3.3), and how spread out they are."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput


def boltzmann(
    priorities: Float[np.ndarray, "phases"], temperature: float
) -> Float[np.ndarray, "phases"]:
    """Probabilities; temperature 0 is the limit (the highest share alike), infinity is uniform."""
    if np.isnan(temperature) or temperature < 0:
        raise BadInput(f"temperature {temperature}; expected 0 or more")
    if not np.isfinite(priorities).all():
        raise BadInput("priorities hold NaN or infinity; check the prototypes they come from")
    if len(priorities) == 0:
        return np.zeros(0)
    below_best = priorities.astype(np.float64) - priorities.max()
    if temperature == 0:
        weights = (below_best == 0).astype(np.float64)
    else:
        with np.errstate(over="ignore", under="ignore"):
            weights = np.exp(below_best / temperature)
    return np.asarray(weights / weights.sum())


def entropy_bits(probabilities: Float[np.ndarray, "phases"]) -> float:
    """Shannon entropy; log2 of the number of phases when uniform, 0 when one takes all."""
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log2(positive)).sum()) + 0.0
