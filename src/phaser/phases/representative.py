"""The demonstration that stands for its task: typical in length, then in motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput

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
    profiles = np.stack([_profile(demos[position]) for position in typical])
    total_distance = [float(np.linalg.norm(profiles - one, axis=1).sum()) for one in profiles]
    return int(typical[int(np.argmin(total_distance))])


def _profile(demo: Demo) -> Float[np.ndarray, "points_times_action"]:
    """Actions at equal steps of progress, as one vector."""
    progress = np.linspace(0, 1, demo.num_frames)
    grid = np.linspace(0, 1, _PROFILE_POINTS)
    columns = [np.interp(grid, progress, column) for column in demo.actions.T]
    return np.concatenate(columns) if columns else np.zeros(0)
