"""Per-feature statistics as LeRobot stores them, per episode and pooled over a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped, UInt8

Statistics = dict[str, np.ndarray]
_QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
_MAX_SAMPLED_FRAMES = 16


def of_vectors(values: Shaped[np.ndarray, "frames size"]) -> Statistics:
    """Minimum, maximum, mean, deviation and quantiles of each column."""
    values = values.astype(np.float64)
    found = {
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "mean": values.mean(axis=0),
        "std": values.std(axis=0),
        "count": np.array([len(values)]),
    }
    levels = np.quantile(values, list(_QUANTILES.values()), axis=0)
    return found | dict(zip(_QUANTILES, levels, strict=True))


def of_images(frames: UInt8[np.ndarray, "frames height width 3"]) -> Statistics:
    """The same per channel in [0, 1], shaped (3, 1, 1), from at most 16 frames spread evenly."""
    picks = np.unique(
        np.linspace(0, len(frames) - 1, min(len(frames), _MAX_SAMPLED_FRAMES)).astype(int)
    )
    found = of_vectors(frames[picks].reshape(-1, 3) / 255.0)
    shaped = {name: part.reshape(3, 1, 1) for name, part in found.items() if name != "count"}
    return shaped | {"count": np.array([len(frames)])}


def pooled(episodes: Sequence[Statistics]) -> Statistics:
    """Statistics of all parts together; quantiles that all have are averaged, as LeRobot does."""
    counts = np.array([part["count"][0] for part in episodes], np.float64)
    shares = counts / counts.sum()

    def averaged(name: str) -> np.ndarray:
        return np.tensordot(shares, np.stack([part[name] for part in episodes]), axes=1)

    mean = averaged("mean")
    spread = np.stack([part["std"] ** 2 + (part["mean"] - mean) ** 2 for part in episodes])
    return {
        "min": np.min([part["min"] for part in episodes], axis=0),
        "max": np.max([part["max"] for part in episodes], axis=0),
        "mean": mean,
        "std": np.sqrt(np.tensordot(shares, spread, axes=1)),
        "count": np.array([int(counts.sum())]),
        **{name: averaged(name) for name in _QUANTILES if all(name in one for one in episodes)},
    }


def to_json(statistics: Mapping[str, Statistics]) -> dict[str, Any]:
    return {
        feature: {name: part.tolist() for name, part in found.items()}
        for feature, found in statistics.items()
    }
