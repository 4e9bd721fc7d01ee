"""Confidence intervals of a mean by Student's t, over streams or over seeds and tasks.

A bootstrap's percentiles are too narrow with few streams (six streams: 85 of 100 intervals
hold the truth). Student's quantile allows for a spread that is itself known from few values: 94 to
96 of 100 from two streams on, which a test simulates. Seeds and tasks that are crossed both vary,
so the variance of their mean is estimated from both (two-way analysis of variance, random effects),
and so are its degrees of freedom (Satterthwaite); such an interval is rather too wide than too
narrow where seeds or tasks hardly differ.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, lgamma, pi, sqrt
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.evaluation.intervals import Interval

LARGEST_DEGREES = 10_000.0
"""Above this many degrees of freedom Student's quantile is the normal one to four digits."""
FLAT = 1e-12
"""Values closer than this do not vary, so their spread says nothing."""


def mean_interval(
    values: Float[np.ndarray, "seeds tasks"],
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Interval | None:
    """The interval of the mean of a table; none where there is one value or nothing varies.

    values: seeds × tasks; a single column where each seed is one value (a stream), a single row
        where there is one seed, whose tasks alone vary.
    bounds: values that the mean cannot leave, such as 0 and 1 for a rate.
    """
    if values.ndim != 2 or values.size == 0:
        raise BadInput(f"an interval needs a seeds × tasks table, found shape {values.shape}")
    if values.size == 1 or np.ptp(values) < FLAT:
        return None
    error, degrees = (float(one[0]) for one in standard_error(values[None]))
    half = student_quantile(degrees, confidence) * error
    mean = float(values.mean())
    return Interval(max(mean - half, bounds[0]), min(mean + half, bounds[1]))


def standard_error(
    tables: Float[np.ndarray, "*studies seeds tasks"],
) -> tuple[Float[np.ndarray, "*studies"], Float[np.ndarray, "*studies"]]:
    """The standard error of the mean of each table, and its degrees of freedom."""
    seeds, tasks = tables.shape[-2:]
    size = seeds * tasks
    if 1 in (seeds, tasks):
        spread = tables.std(axis=(-2, -1), ddof=1)
        return spread / sqrt(size), np.full_like(spread, size - 1)
    by_seed, by_task = tables.mean(axis=-1, keepdims=True), tables.mean(axis=-2, keepdims=True)
    rest = tables - by_seed - by_task + tables.mean(axis=(-2, -1), keepdims=True)
    left = (seeds - 1) * (tasks - 1)
    noise = (rest**2).sum(axis=(-2, -1)) / left
    of_seeds = np.maximum(tasks * by_seed.var(axis=(-2, -1), ddof=1), noise)
    of_tasks = np.maximum(seeds * by_task.var(axis=(-2, -1), ddof=1), noise)
    total = of_seeds + of_tasks - noise
    squares = of_seeds**2 / (seeds - 1) + of_tasks**2 / (tasks - 1) + noise**2 / left
    degrees = np.clip(total**2 / squares, min(seeds, tasks) - 1, size - 1)
    # Rounded, so that many tables share their quantiles.
    return np.sqrt(total / size), np.round(degrees, 1)


@lru_cache(maxsize=4096)
def student_quantile(degrees: float, confidence: float = 0.95) -> float:
    """The value that Student's t exceeds, in size, with a probability of 1 - confidence."""
    if not 0 < confidence < 1 or not degrees > 0:
        raise BadInput(f"a quantile at {confidence} with {degrees} degrees of freedom")
    if degrees > LARGEST_DEGREES:
        return NormalDist().inv_cdf(0.5 + confidence / 2)
    # With t = √degrees · tan θ the density is cos(θ)**(degrees - 1): smooth on a finite span.
    low, high = 0.0, pi / 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _share_within(middle, degrees) < confidence else (low, middle)
    return float(sqrt(degrees) * np.tan(low))


def student_p(score: float, degrees: float) -> float:
    """The probability that Student's t is at least as far from 0 as a score."""
    return max(0.0, 1.0 - _share_within(float(np.arctan(abs(score) / sqrt(degrees))), degrees))


def _share_within(angle: float, degrees: float) -> float:
    nodes, weights = _nodes()
    heights = np.cos(angle * nodes) ** (degrees - 1)
    constant = 2 * exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(pi)
    return constant * angle * float(weights @ heights)


@lru_cache(maxsize=1)
def _nodes() -> tuple[Float[np.ndarray, "nodes"], Float[np.ndarray, "nodes"]]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(150)
    return (nodes + 1) / 2, weights / 2
