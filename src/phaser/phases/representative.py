"""The demonstration that stands for its task: typical in length, then in motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.phases.signals import taming_shift

_PROFILE_POINTS = 64
# The medoid compares all with all; beyond this many the choice hardly changes, the time does.
_MOST_COMPARED = 256


def representative(demos: Sequence[Demo]) -> int:
    """Position of the medoid of the action profiles, among the half nearest the median length."""
    if not demos:
        raise BadInput("no demonstrations to segment; expected at least one")
    lengths = np.array([demo.num_frames for demo in demos])
    by_length = np.argsort(np.abs(lengths - np.median(lengths)), kind="stable")
    typical = np.sort(by_length[: min((len(demos) + 1) // 2, _MOST_COMPARED)])
    several = [demos[position].actions for position in typical]
    largest = max(float(np.abs(actions).max(initial=0.0)) for actions in several)
    profiles = np.stack([_profile(actions, taming_shift(largest)) for actions in several])
    total_distance = [float(np.linalg.norm(profiles - one, axis=1).sum()) for one in profiles]
    return int(typical[int(np.argmin(total_distance))])


def _profile(
    actions: Float[np.ndarray, "frames action"], shift: int
) -> Float[np.ndarray, "points_times_action"]:
    """Actions at equal steps of progress, as one vector."""
    progress = np.linspace(0, 1, len(actions))
    grid = np.linspace(0, 1, _PROFILE_POINTS)
    tame = np.ldexp(actions.astype(np.float64), shift) if shift else actions
    columns = [np.interp(grid, progress, column) for column in tame.T]
    return np.concatenate(columns) if columns else np.zeros(0)
