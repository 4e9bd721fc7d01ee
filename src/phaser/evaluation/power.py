"""The power of the sign-flip test over streams, by simulation: what a design can find.

A stream's paired difference is drawn from a normal distribution; an effect is a gap in units of its
standard deviation. A gap is found where the two-sided test of a report has p ≤ .05; equality is
shown where both one-sided tests do. Below six streams p cannot fall to .05, so nothing is found.
All draws come from named streams: the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from phaser.core.streams import Streams
from phaser.evaluation.equivalence import LEVEL
from phaser.evaluation.intervals import sign_flips

FEWEST_STREAMS = 6
MOST_STREAMS = 400
"""Designs above this are not looked for."""
POWER = 0.8
NUM_STUDIES = 2_000
LARGEST_EXACT = 10
"""Up to this many streams a simulated study enumerates all flips; above, it draws 1,000."""
LARGEST_EFFECT = 8.0
STREAMS = Streams(0)


def power(num_streams: int, effect: float) -> float:
    """The share of studies that find a gap of this effect."""
    if num_streams < FEWEST_STREAMS:
        return 0.0
    flipped, leanings = _studies(num_streams)
    moved = np.abs(flipped + leanings[:, None] * effect)
    return float(np.mean(np.mean(moved >= moved[0] - 1e-9, axis=0) <= LEVEL))


def power_of_equality(num_streams: int, effect: float) -> float:
    """The share of studies of equal methods that show equality within a margin of this effect."""
    flipped, leanings = _studies(num_streams)
    shift = leanings[:, None] * effect
    above, below = shift + flipped, shift - flipped
    # Both tests must pass, so the larger count of flips decides.
    counts = [np.mean(one >= one[0] - 1e-9, axis=0) for one in (above, below)]
    return float(np.mean(np.maximum(*counts) <= LEVEL))


@lru_cache(maxsize=1024)
def detectable_effect(num_streams: int) -> float | None:
    """The smallest effect that is found in 80 % of studies; none where no effect is."""
    if num_streams < FEWEST_STREAMS:
        return None
    low, high = 0.0, LARGEST_EFFECT
    while high - low > 0.002:
        middle = (low + high) / 2
        low, high = (low, middle) if power(num_streams, middle) >= POWER else (middle, high)
    return high


def streams_needed(effect: float, share: Callable[[int, float], float] = power) -> int | None:
    """The smallest number of streams with 80 % power; none up to 400.

    share: `power` to find a gap of this effect, or `power_of_equality` within such a margin.
    """
    low, high = FEWEST_STREAMS, MOST_STREAMS
    if share(high, effect) < POWER:
        return None
    while low < high:
        middle = (low + high) // 2
        if share(middle, effect) >= POWER:
            high = middle
        else:
            low = middle + 1
    return high


@lru_cache(maxsize=4)
def _studies(
    num_streams: int,
) -> tuple[Float[np.ndarray, "flips studies"], Float[np.ndarray, "flips"]]:
    """Sums of flipped noise by study, the observed signs first, and the sum of each flip's signs.

    A gap moves a flipped sum by the sum of its signs, so one simulation serves every effect.
    """
    signs = sign_flips(
        num_streams,
        STREAMS.named("power", "flips", num_streams),
        largest_exact=LARGEST_EXACT,
        num_drawn=1_000,
    )
    noise = STREAMS.named("power", "studies", num_streams)().normal(size=(num_streams, NUM_STUDIES))
    return signs @ noise, signs.sum(axis=1)
