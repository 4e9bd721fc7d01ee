"""A comparison that may be looked at after every stream, and stopped as soon as it is decided.

Under the hypothesis that a stream's paired difference is as likely +d as -d (the hypothesis of the
report's sign-flip test), exp(λd) / cosh(λd) has mean 1, whatever d's size. Its product over streams
averaged over several λ of both signs, is the wealth of a gambler who bets against the hypothesis
from 1: by Ville's inequality it ever reaches 20 with a probability of at most 5 %, however often
one looks. So no correction for looking is needed. Streams count in the order of their seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.evaluation.equivalence import LEVEL
from phaser.evaluation.intervals import Interval

BETS = np.concatenate([sign * np.geomspace(1.0, 300.0, 12) for sign in (1.0, -1.0)])
"""λ, in one over a success rate: from differences of some 100 points to some 0.3 points."""
SHIFTS = np.linspace(-1.0, 1.0, 2001)
"""Differences that the interval is searched among: every tenth of a point."""
AT_ONCE = 100
"""Shifts that are tried together, so that many streams need little memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sequential:
    """What a comparison says so far; every number holds however often one looked."""

    num_streams: int
    e_value: float
    """Largest wealth so far, from 1: evidence against "no difference"."""
    p_value: float
    decided_after: int | None
    """Streams after which it was decided; none while it is not."""
    interval: Interval
    """Differences that were never refuted, at 95 %."""
    needed: float
    """The wealth that decides: 20, times the number of comparisons that were asked for."""

    @property
    def is_decided(self) -> bool:
        return self.decided_after is not None


def sequential(differences: Sequence[float], *, num_contrasts: int = 1) -> Sequential:
    """Judge paired differences, one per stream in the order in which streams were run.

    num_contrasts: comparisons that share the 5 %.
    """
    found = np.asarray(differences, dtype=np.float64)
    needed = num_contrasts / LEVEL
    wealth = np.maximum.accumulate(wealths(found[None, :])[0])
    reached = np.flatnonzero(wealth >= needed)
    most = float(wealth[-1]) if len(wealth) else 1.0
    return Sequential(
        num_streams=len(found),
        e_value=most,
        p_value=min(1.0, 1.0 / most),
        decided_after=int(reached[0]) + 1 if len(reached) else None,
        interval=_interval(found, needed),
        needed=needed,
    )


def wealths(
    differences: Float[np.ndarray, "studies streams"],
) -> Float[np.ndarray, "studies streams"]:
    """The gambler's wealth of each study after each of its streams."""
    bets = BETS[:, None, None] * differences[None]
    # log cosh x = |x| + log1p(exp(-2|x|)) - log 2, which cannot overflow.
    size = np.abs(bets)
    logs = np.cumsum(bets - size - np.log1p(np.exp(-2 * size)) + np.log(2.0), axis=2)
    wealth: Float[np.ndarray, "studies streams"] = np.exp(logs).mean(axis=0)
    return wealth


def _interval(differences: Float[np.ndarray, "streams"], needed: float) -> Interval:
    """All shifts about which the differences may be symmetric."""
    if not len(differences):
        return Interval(-1.0, 1.0)
    largest = np.concatenate(
        [
            wealths(differences[None, :] - some[:, None]).max(axis=1)
            for some in np.split(SHIFTS, range(AT_ONCE, len(SHIFTS), AT_ONCE))
        ]
    )
    # Were all refuted, the one with the least against it would be left.
    kept = SHIFTS[largest < max(needed, largest.min() * (1 + 1e-9))]
    return Interval(float(kept.min()), float(kept.max()))
