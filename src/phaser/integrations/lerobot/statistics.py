"""Normalisation statistics of a stream: which are in force, and which would blow a policy up.

LeRobot gives a policy the statistics of the newest dataset alone. Rehearsed samples are stored as
they were recorded, so their meaning then changes from task to task; and statistics of the first
dataset alone divide by zero where a later one moves what stood still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.errors import BadInput
from phaser.core.files import read_json
from phaser.demos.lerobot_statistics import Statistics, pooled
from phaser.integrations.lerobot.settings import ALL_SO_FAR, FIRST

OfFeatures = dict[str, Statistics]
"""Statistics by the name of a feature."""

LIMIT = 1000.0
"""Normalised numbers beyond this are called a blow-up: a thousand standard deviations."""
_SMALLEST = 1e-8
"""What LeRobot adds to a divisor."""
_RANGES = {"MIN_MAX": ("min", "max"), "QUANTILES": ("q01", "q99"), "QUANTILE10": ("q10", "q90")}


def as_arrays(statistics: Mapping[str, Mapping[str, Any]]) -> OfFeatures:
    """Statistics from JSON, or from LeRobot, whose numbers may be tensors."""
    return {
        feature: {name: np.asarray(value) for name, value in found.items()}
        for feature, found in statistics.items()
    }


def read_statistics(path: Path) -> OfFeatures:
    """Statistics from a file in the form of a dataset's meta/stats.json."""
    found = read_json(path)
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise BadInput(
            f"{path} holds no statistics; expected the form of a dataset's meta/stats.json: "
            '{"action": {"mean": […], "std": […], …}, …}'
        )
    return as_arrays(found)


def in_force(choice: str, earlier: Sequence[OfFeatures], newest: OfFeatures) -> OfFeatures:
    """The statistics that a policy is given for the newest task.

    Args:
        choice: `all-so-far`, `first`, or a file.
        earlier: each earlier dataset's own, oldest first.
        newest: the newest dataset's own.
    """
    if choice == ALL_SO_FAR:
        return aggregated([*earlier, newest])
    if choice == FIRST:
        return aggregated([earlier[0] if earlier else newest])
    found = read_statistics(Path(choice))
    if missing := sorted(set(newest) - set(found) - _NOT_NORMALISED):
        raise BadInput(f"{choice} has no statistics of {', '.join(missing)}; add them")
    return newest | found


_NOT_NORMALISED = {"timestamp", "frame_index", "episode_index", "index", "task_index"}


def aggregated(parts: Sequence[OfFeatures]) -> OfFeatures:
    """Statistics over all datasets; every frame counts once, quantiles are averaged."""
    features = dict.fromkeys(name for part in parts for name in part)
    found: OfFeatures = {}
    for feature in features:
        own = [part[feature] for part in parts if feature in part]
        sizes = {one["mean"].shape for one in own if "mean" in one}
        if len(sizes) > 1:
            raise BadInput(
                f"the datasets have {feature!r} in the sizes {sorted(sizes)}; expected one size: "
                "one policy cannot learn them in a row"
            )
        found[feature] = pooled(own) if len(own) > 1 else dict(own[0])
    return found


def refuse_blow_up(
    statistics: OfFeatures, newest: OfFeatures, modes: Mapping[str, str], *, dataset: str
) -> None:
    """Refuse statistics under which numbers of the newest dataset leave every sensible range.

    Args:
        statistics: those in force.
        newest: those of the newest dataset itself, with its smallest and largest numbers.
        modes: how each feature is normalised, in LeRobot's words (MEAN_STD, MIN_MAX, …).
        dataset: its name, for the message.
    """
    for feature, mode in modes.items():
        if feature not in statistics or feature not in newest:
            continue
        worst = _worst(statistics[feature], newest[feature], mode)
        if worst is None or worst[0] <= LIMIT:
            continue
        largest, place, width = worst
        raise BadInput(
            f"number {place} of {feature!r} hardly varies in the statistics in force "
            f"({_WIDTH.get(mode, 'range')} {width:.2g}) but does in {dataset}, where it would "
            f"become {largest:.0e} when normalised; use --replay.statistics {ALL_SO_FAR}"
        )


_WIDTH = {"MEAN_STD": "std"}


def _worst(
    statistics: Statistics, newest: Statistics, mode: str
) -> tuple[float, int, float] | None:
    """The largest normalised number of the newest data, its place, and what it is divided by."""
    if mode == "MEAN_STD":
        needed = ("mean", "std")
    elif mode in _RANGES:
        needed = _RANGES[mode]
    else:
        return None
    if not all(name in statistics for name in needed) or not {"min", "max"} <= set(newest):
        return None
    first, second = (np.ravel(statistics[name]).astype(np.float64) for name in needed)
    centre, width = (first, second) if mode == "MEAN_STD" else (first, second - first)
    ends = [np.ravel(newest[name]).astype(np.float64) for name in ("min", "max")]
    if any(end.shape != centre.shape for end in ends):
        return None
    reach = np.max([np.abs(end - centre) for end in ends], axis=0)
    normalised = reach / (width + _SMALLEST)
    place = int(np.argmax(normalised))
    return float(normalised[place]), place, float(width[place])
