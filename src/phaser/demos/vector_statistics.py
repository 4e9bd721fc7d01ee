"""Statistics of states and actions over demonstrations, as a contract holds them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float

from phaser.core.contract import Statistics


def statistics_of(parts: Iterable[Float[np.ndarray, "_ size"]]) -> Statistics:
    """Ranges of each column over the rows of all parts; every frame counts once."""
    rows = np.concatenate([part.astype(np.float32) for part in parts]).astype(np.float64)
    low, high = np.quantile(rows, [0.01, 0.99], axis=0)
    return Statistics(
        mean=_numbers(rows.mean(axis=0)),
        std=_numbers(rows.std(axis=0)),
        min=_numbers(rows.min(axis=0)),
        max=_numbers(rows.max(axis=0)),
        q01=_numbers(low),
        q99=_numbers(high),
    )


def _numbers(values: Float[np.ndarray, "size"]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
