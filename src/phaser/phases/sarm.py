"""Phases that LeRobot's SARM annotation keeps in `meta/episodes`: names, first and last frames.

A frame belongs to the first subtask whose span holds it, as SARM itself reads them: what lies
between two subtasks belongs to the earlier one, what lies before the first to the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from phaser.core.errors import BrokenFile, BrokenSegmentation
from phaser.core.segmentation import Segmentation
from phaser.demos.lerobot import Dataset
from phaser.demos.lerobot_episodes import episode_columns

_PARTS = ("names", "start_frames", "end_frames")
_PREFIXES = ("sparse_subtask_", "subtask_")
"""Columns of today, and those of datasets that were annotated before there were two kinds."""


def sarm_phases(dataset: Dataset) -> dict[int, Segmentation]:
    """The phases of every annotated episode, by its number; empty where there is no annotation."""
    for prefix in _PREFIXES:
        columns = [prefix + part for part in _PARTS]
        rows = episode_columns(dataset.root, columns)
        found = {
            row["episode_index"]: _segmentation(
                dict(zip(_PARTS, (row[name] for name in columns), strict=True)),
                num_frames=row["length"],
                where=dataset.root,
                episode=row["episode_index"],
            )
            for row in rows
            if row[columns[0]] is not None
        }
        if found:
            return found
    return {}


def _segmentation(
    parts: Mapping[str, Any], *, num_frames: int, where: Path, episode: int
) -> Segmentation:
    names, starts, ends = (parts[name] for name in _PARTS)
    same = len({len(part) for part in (names, starts or (), ends or ())}) == 1
    if not names or not same or None in (*names, *starts, *ends):
        raise BrokenFile(
            f"{where}: the subtasks of episode {episode} have {parts}; expected as many names, "
            "first and last frames; annotate it again"
        )
    begins = [0, *(max(start, end + 1) for start, end in zip(starts[1:], ends[:-1], strict=True))]
    try:
        if any(later <= earlier for earlier, later in pairwise(begins)):
            raise BrokenSegmentation(f"subtasks begin at frames {begins}, expected later and later")
        return Segmentation.from_boundaries(begins[1:], num_frames=num_frames, labels=names)
    except BrokenSegmentation as error:
        raise BrokenFile(f"{where}, episode {episode}: {error}") from error
