"""How sure: Wilson intervals, a bootstrap over seeds and tasks, an exact test over seeds.

Seeds and tasks are crossed, so both are resampled, independently of each other: a statement then
holds for other seeds and for other tasks of the same kind. With one seed only tasks are resampled.
All draws come from a named stream: the same numbers give the same interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.core.streams import Stream

NUM_RESAMPLES = 10_000
LARGEST_EXACT_TEST = 14
"""Up to this many seeds all 2**n sign flips are enumerated; above, they are drawn."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, ends included."""

    lower: float
    upper: float

    def __contains__(self, value: float) -> bool:
        return bool(self.lower <= value <= self.upper)


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a success rate; right even at 0 and 100 %."""
    if not 0 <= successes <= trials or trials == 0:
        raise BadInput(f"{successes} successes in {trials} episodes")
    z = _quantile(confidence)
    rate = successes / trials
    centre = (rate + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * (rate * (1 - rate) / trials + z**2 / (4 * trials**2)) ** 0.5
    return Interval(
        0.0 if successes == 0 else centre - half, 1.0 if successes == trials else centre + half
    )


def newcombe(
    first: tuple[int, int], second: tuple[int, int], *, confidence: float = 0.95
) -> Interval:
    """Newcombe's interval of a difference of two rates, given as (successes, episodes)."""
    (p, one), (q, two) = (
        (count[0] / count[1], wilson(*count, confidence=confidence)) for count in (first, second)
    )
    below = ((p - one.lower) ** 2 + (two.upper - q) ** 2) ** 0.5
    above = ((one.upper - p) ** 2 + (q - two.lower) ** 2) ** 0.5
    return Interval(p - q - below, p - q + above)


def bootstrap_mean(
    values: Float[np.ndarray, "seeds tasks"],
    stream: Stream,
    *,
    confidence: float = 0.95,
    num_resamples: int = NUM_RESAMPLES,
) -> Interval:
    """Percentile interval of the mean of a seeds × tasks table, both resampled."""
    if values.ndim != 2 or values.size == 0:
        raise BadInput(f"a bootstrap needs a seeds × tasks table, found shape {values.shape}")
    generator = stream()
    seeds = _resampled_shares(values.shape[0], num_resamples, generator)
    tasks = _resampled_shares(values.shape[1], num_resamples, generator)
    means = np.einsum("rs,st,rt->r", seeds, values, tasks, optimize=True)
    tail = (1 - confidence) / 2
    lower, upper = np.quantile(means, [tail, 1 - tail])
    return Interval(float(lower), float(upper))


def sign_flip_p(differences: Float[np.ndarray, "seeds"], stream: Stream) -> float:
    """Two-sided p that paired differences are symmetric about 0, by flipping their signs.

    Exact for up to 14 seeds; it cannot be smaller than 2 / 2**seeds, so 1 for a single seed.
    """
    flipped = np.abs(sign_flips(len(differences), stream) @ differences)
    return float(np.mean(flipped >= abs(differences.sum()) - 1e-12))


def sign_flip_p_above(differences: Float[np.ndarray, "seeds"], stream: Stream) -> float:
    """One-sided p that paired differences are symmetric about 0 or lower; small if they are above.

    It cannot be smaller than 1 / 2**seeds.
    """
    flipped = sign_flips(len(differences), stream) @ differences
    return float(np.mean(flipped >= differences.sum() - 1e-12))


def sign_flips(
    num_seeds: int,
    stream: Stream,
    *,
    largest_exact: int = LARGEST_EXACT_TEST,
    num_drawn: int = 100_000,
) -> Float[np.ndarray, "flips seeds"]:
    """All signs that seeds can have, or a sample of them; the observed signs come first.

    largest_exact: up to this many seeds all 2**n flips are listed.
    num_drawn: flips that are drawn where there are more seeds.
    """
    if num_seeds <= largest_exact:
        return np.array(list(product((1.0, -1.0), repeat=num_seeds)))
    drawn = stream().choice([1.0, -1.0], size=(num_drawn, num_seeds))
    # The observed signs count as one of the flips, else p could be 0.
    return np.vstack([np.ones(num_seeds), drawn])


def holm(p_values: Sequence[float]) -> list[float]:
    """p values of several tests of one family, corrected so that all together err in 5 of 100."""
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected


def _resampled_shares(
    count: int, num_resamples: int, generator: np.random.Generator
) -> Float[np.ndarray, "resamples count"]:
    return generator.multinomial(count, np.full(count, 1 / count), size=num_resamples) / count


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise BadInput(f"confidence {confidence}; expected a number between 0 and 1, such as 0.95")
    return NormalDist().inv_cdf((1 + confidence) / 2)
