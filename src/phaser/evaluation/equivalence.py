"""Shown to be equal: two one-sided tests that a paired difference is smaller than a margin.

"No difference is shown" may mean that there is none, or that too little was measured. Equality
within a margin is shown where the 90 % interval lies inside of it and two sign-flip tests, that the
difference is above −margin and that it is below +margin, both have p ≤ .05. The tests assume no
shape of the differences' distribution; they need five seeds at least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.core.streams import Stream
from phaser.evaluation.intervals import Interval, flipped_sums

LEVEL = 0.05
CONFIDENCE = 1 - 2 * LEVEL
"""Of the interval that belongs to two one-sided tests."""
MARGIN = 0.03
"""Three points: smaller differences of a success rate are taken for none unless told otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Equivalence:
    """Whether a difference is shown to be smaller than a margin, in either direction."""

    margin: float
    interval: Interval
    """90 %, made as the 95 % interval of the difference is."""
    p_value: float | None
    """The larger one of the two one-sided tests; none for a single seed."""

    @property
    def is_shown(self) -> bool:
        inside = -self.margin < self.interval.lower and self.interval.upper < self.margin
        return inside and self.p_value is not None and self.p_value <= LEVEL


def equivalence(
    differences: Float[np.ndarray, "seeds"], interval: Interval, stream: Stream, *, margin: float
) -> Equivalence:
    """Test equality within a margin.

    differences: one per seed or stream.
    interval: the 90 % interval of their mean.
    """
    if not 0 < margin < 1:
        raise BadInput(f"a margin of {100 * margin:g} points; expected more than 0 and below 100")
    if len(differences) < 2:
        return Equivalence(margin=margin, interval=interval, p_value=None)
    flipped, leanings = flipped_sums(differences, stream)
    # Flipping margin ± difference flips both; the first flip changes no sign.
    tests = (margin * leanings + sign * flipped for sign in (1.0, -1.0))
    p_values = [float(np.mean(sums >= sums[0] - 1e-12)) for sums in tests]
    return Equivalence(margin=margin, interval=interval, p_value=max(p_values))
