"""Choose frames that are as unlike each other as possible: farthest-point selection."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def farthest_points(vectors: Float[np.ndarray, "points dims"], count: int) -> list[int]:
    """Rows: first the one nearest to the mean, then always the one farthest from all chosen.

    Among equals the first row wins. Memory stays linear in the number of points: only the distance
    of each to its nearest chosen one is kept.
    """
    if count < 1:
        return []
    chosen = [int(_squared_distances(vectors, vectors.mean(axis=0)).argmin())]
    to_chosen = np.full(len(vectors), np.inf)
    while len(chosen) < count:
        distances = _squared_distances(vectors, vectors[chosen[-1]])
        to_chosen = np.minimum(to_chosen, distances)
        to_chosen[chosen[-1]] = -1  # below a duplicate's 0, so that no row comes twice
        chosen.append(int(to_chosen.argmax()))
    return chosen


def _squared_distances(
    vectors: Float[np.ndarray, "points dims"], point: Float[np.ndarray, "dims"]
) -> Float[np.ndarray, "points"]:
    # Differences first: the expanded product would give equal rows a distance that is not 0.
    difference = vectors - point
    squared: Float[np.ndarray, "points"] = np.einsum("ij,ij->i", difference, difference)
    return squared
