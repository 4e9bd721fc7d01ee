"""The demonstration that stands for its task: typical in length, then in motion.

The order in which demonstrations stand has no say in it: what is equally typical is decided by
what was done.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.phases.signals import taming_shift

_PROFILE_POINTS = 64
# The medoid compares all with all; beyond this many the choice hardly changes, the time does.
_MOST_COMPARED = 256


def representative(demos: Sequence[Demo], *, originals: Sequence[Demo] | None = None) -> int:
    """Position of the medoid of the action profiles, among the half nearest the median length.

    At the edge of that half the smaller actions come first, of tied medoids the greater are taken.
    Both are arbitrary, but the same in every order; of two with equal actions either will do.
    `originals` are what `demos` were made from, and decide where two of them have become equal.
    """
    if not demos:
        raise BadInput("no demonstrations to segment; expected at least one")
    sources = demos if originals is None else originals
    content = [_Content((a.actions, b.actions)) for a, b in zip(demos, sources, strict=True)]
    median = float(np.median([demo.num_frames for demo in demos]))
    nearest = sorted(
        range(len(demos)), key=lambda k: (abs(demos[k].num_frames - median), content[k])
    )
    typical = nearest[: min((len(demos) + 1) // 2, _MOST_COMPARED)]
    several = [demos[position].actions for position in typical]
    largest = max(float(np.abs(actions).max(initial=0.0)) for actions in several)
    profiles = np.stack([_profile(actions, taming_shift(largest)) for actions in several])
    # An exact sum: one that is rounded on the way would depend on the order.
    totals = [math.fsum(np.linalg.norm(profiles - one, axis=1).tolist()) for one in profiles]
    lowest = min(totals)
    tied = [place for place, total in zip(typical, totals, strict=True) if total == lowest]
    return max(tied, key=lambda position: content[position])


@dataclass(frozen=True, slots=True, eq=False)
class _Content:
    """Something to sort by that follows from what was done alone: the first difference decides."""

    tables: tuple[Float[np.ndarray, "_ action"], ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self._before(other) is None

    def __lt__(self, other: _Content) -> bool:
        return bool(self._before(other))

    def _before(self, other: _Content) -> bool | None:
        """True if this comes first, None where both are the same."""
        for mine, theirs in zip(self.tables, other.tables, strict=True):
            length = min(len(mine), len(theirs))
            one, two = mine[:length].ravel(), theirs[:length].ravel()
            differ = np.flatnonzero(one != two)
            if len(differ):
                return bool(one[differ[0]] < two[differ[0]])
            if len(mine) != len(theirs):
                return len(mine) < len(theirs)
        return None


def _profile(
    actions: Float[np.ndarray, "frames action"], shift: int
) -> Float[np.ndarray, "points_times_action"]:
    """Actions at equal steps of progress, as one vector."""
    progress = np.linspace(0, 1, len(actions))
    grid = np.linspace(0, 1, _PROFILE_POINTS)
    tame = np.ldexp(actions.astype(np.float64), shift) if shift else actions
    columns = [np.interp(grid, progress, column) for column in tame.T]
    return np.concatenate(columns) if columns else np.zeros(0)
