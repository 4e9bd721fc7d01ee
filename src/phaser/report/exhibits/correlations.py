"""Correlations of two columns, by value, by rank, and with a third one held fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phaser.evaluation.student import student_p


@dataclass(frozen=True, slots=True)
class Correlation:
    """A coefficient between −1 and 1 with its two-sided p; both none for fewer than four points."""

    value: float | None
    p_value: float | None


def pearson(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Linear correlation."""
    return _tested(_coefficient(first, second), len(first) - 2)


def spearman(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Correlation of ranks; equal values share their mean rank."""
    return _tested(_coefficient(_ranks(first), _ranks(second)), len(first) - 2)


def partial(first: Sequence[float], second: Sequence[float], given: Sequence[float]) -> Correlation:
    """Linear correlation of what a third column does not explain of the two."""
    pairs = ((first, second), (first, given), (second, given))
    both, one, other = (_coefficient(*pair) for pair in pairs)
    if both is None or one is None or other is None:
        return Correlation(None, None)
    left = ((1 - one**2) * (1 - other**2)) ** 0.5
    return _tested((both - one * other) / left if left > 1e-12 else None, len(first) - 3)


def partial_of_ranks(
    first: Sequence[float], second: Sequence[float], given: Sequence[float]
) -> Correlation:
    """Correlation of ranks of what the ranks of a third column do not explain of the two."""
    return partial(_ranks(first), _ranks(second), _ranks(given))


def _coefficient(first: Sequence[float], second: Sequence[float]) -> float | None:
    if len(first) < 4 or np.ptp(first) < 1e-15 or np.ptp(second) < 1e-15:
        return None
    return float(np.corrcoef(first, second)[0, 1])


def _tested(value: float | None, degrees: int) -> Correlation:
    if value is None:
        return Correlation(None, None)
    if abs(value) >= 1 - 1e-12:
        return Correlation(value, 0.0)
    score = value * (degrees / (1 - value**2)) ** 0.5
    return Correlation(value, student_p(score, float(degrees)))


def _ranks(values: Sequence[float]) -> list[float]:
    found = np.asarray(values)
    return [float((found < one).sum() + (found == one).sum() / 2 + 0.5) for one in found]
