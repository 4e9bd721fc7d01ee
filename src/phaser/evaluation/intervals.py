"""How sure: Wilson and Newcombe intervals of counted episodes, an exact test over seeds, Holm.

Intervals over seeds, tasks or streams are in `phaser.evaluation.student`. What is drawn comes from
a named stream: the same numbers give the same answer.
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

LARGEST_EXACT_TEST = 14
"""Up to this many seeds all 2**n sign flips are enumerated; above, they are drawn."""
NUM_FLIPS = 100_000
FLIPS_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, ends included."""

    lower: float
    upper: float

    @property
    def half_width(self) -> float:
        return (self.upper - self.lower) / 2

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


def sign_flip_p(differences: Float[np.ndarray, "seeds"], stream: Stream) -> float:
    """Two-sided p that paired differences are symmetric about 0, by flipping their signs.

    Exact for up to 14 seeds; it cannot be smaller than 2 / 2**seeds, so 1 for a single seed.
    """
    flipped, _ = flipped_sums(differences, stream)
    return float(np.mean(np.abs(flipped) >= abs(differences.sum()) - 1e-12))


def flipped_sums(
    differences: Float[np.ndarray, "seeds"], stream: Stream
) -> tuple[Float[np.ndarray, "flips"], Float[np.ndarray, "flips"]]:
    """The sum of the differences under every flip of signs, and each flip's own sum of signs."""
    count = len(differences)
    if count <= LARGEST_EXACT_TEST:
        signs = sign_flips(count, stream)
        return signs @ differences, signs.sum(axis=1)
    generator = stream()
    sums, leanings = [np.array([differences.sum()])], [np.array([float(count)])]
    # In parts, as all flips of hundreds of seeds together would fill the memory.
    for start in range(0, NUM_FLIPS, FLIPS_AT_ONCE):
        size = (min(FLIPS_AT_ONCE, NUM_FLIPS - start), count)
        signs = generator.choice([1.0, -1.0], size=size)
        sums.append(signs @ differences)
        leanings.append(signs.sum(axis=1))
    return np.concatenate(sums), np.concatenate(leanings)


def sign_flips(
    num_seeds: int,
    stream: Stream,
    *,
    largest_exact: int = LARGEST_EXACT_TEST,
    num_drawn: int = NUM_FLIPS,
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


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p values of several tests of one family, corrected so that all together err in 5 of 100.

    A comparison without a p value is no test: it has none afterwards, and others count it not.
    """
    known = [place for place, p_value in enumerate(p_values) if p_value is not None]
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(known, key=lambda one: p_values[one] or 0.0)):
        highest = max(highest, min(1.0, (len(known) - rank) * (p_values[place] or 0.0)))
        corrected[place] = highest
    return corrected


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise BadInput(f"confidence {confidence}; expected a number between 0 and 1, such as 0.95")
    return NormalDist().inv_cdf((1 + confidence) / 2)
