"""The annotation of somebody else beside one's own: where the two differ, how far they agree."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from phaser.annotate.marks import Marks
from phaser.core.demonstration import Demo
from phaser.core.errors import PhaserError
from phaser.core.segmentation import Segmentation
from phaser.phases.agreement import agreement, matched_boundaries
from phaser.phases.stage_info import read_stage_info
from phaser.phases.stages import TaskStages
from phaser.phases.transfer import Source

TOLERANCE = 5
"""Frames by which two boundaries may lie apart and still mean the same event."""


class Beside:
    """The file of another annotator, read again whenever it has changed; it is never written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stages = read_stage_info(path)
        self._seen = _stamp(path)

    def who(self, task: str) -> str:
        """The name of the annotator, or of the file where the annotator is not known."""
        stages = self._stages.get(task)
        return stages.annotated.who if stages and stages.annotated else self.path.name

    def cut(self, task: str, demo: Demo) -> Segmentation | None:
        """The other annotator's phases of a demonstration; None where the file has none."""
        self._read_again()
        stages = self._stages.get(task)
        if stages is None:
            return None
        return _steps_of(stages, demo) if stages.episodes else stages.segmenter().segment([demo])[0]

    def _read_again(self) -> None:
        stamp = _stamp(self.path)
        if stamp is None or stamp == self._seen:
            return
        try:
            self._stages, self._seen = read_stage_info(self.path), stamp
        except PhaserError:
            # Another program is in the middle of writing it; what was read before still counts.
            return


def difference(mine: Marks, other: Segmentation) -> dict[str, Any]:
    """The other's phases of one demonstration, and all places where the two differ.

    A boundary differs where the other annotation has none within `TOLERANCE` frames; a span
    differs in its name where more frames than that in a row are named differently.
    """
    # Steps that are the same go together first, so that no neighbour takes one's partner away.
    here = [step for step in mine.boundaries if step not in other.boundaries]
    there = [step for step in other.boundaries if step not in mine.boundaries]
    pairs = matched_boundaries(here, there, TOLERANCE)
    return {
        "boundaries": list(other.boundaries),
        "names": list(other.labels),
        "only_here": sorted(set(here) - {step for step, _ in pairs}),
        "only_there": sorted(set(there) - {step for _, step in pairs}),
        "renamed": _renamed(mine.segmentation(), other) if mine.names else [],
        "agreement": agreed([(mine, other)]),
    }


def agreed(pairs: Iterable[tuple[Marks, Segmentation]]) -> dict[str, float | int] | None:
    """The agreement over several demonstrations; None where they share none."""
    shared = [(mine.segmentation(), other) for mine, other in pairs if mine.names]
    if not shared:
        return None
    found = agreement(shared, tolerance=TOLERANCE)
    frames = sum(mine.num_frames for mine, _ in shared)
    alike = sum(_alike(mine, other).count(True) for mine, other in shared)
    return {
        "num_demos": found.num_demos,
        "tolerance": TOLERANCE,
        "f1": round(found.f1, 3),
        "overlap": round(found.mean_iou, 3),
        "same_name": round(alike / frames, 3),
    }


def taken_over(other: Segmentation) -> Marks:
    """The other annotator's phases as marks of one's own, still to be verified."""
    person: Source = "human"
    return Marks(
        num_frames=other.num_frames,
        boundaries=other.boundaries,
        sources=(person,) * len(other.boundaries),
        names=other.labels,
        state="candidate",
        edited=True,
    )


def _steps_of(stages: TaskStages, demo: Demo) -> Segmentation | None:
    for one in stages.episodes:
        if one.episode == demo.index and one.num_frames == demo.num_frames:
            return one.segmentation(stages.names)
    return None


def _names_by_frame(cut: Segmentation) -> list[str]:
    return [phase.label for phase in cut.phases for _ in range(len(phase))]


def _alike(mine: Segmentation, other: Segmentation) -> list[bool]:
    names = zip(_names_by_frame(mine), _names_by_frame(other), strict=True)
    return [here == there for here, there in names]


def _renamed(mine: Segmentation, other: Segmentation) -> list[list[int]]:
    spans, start = [], 0
    for alike, frames in groupby(_alike(mine, other)):
        stop = start + len(list(frames))
        if not alike and stop - start > TOLERANCE:
            spans.append([start, stop])
        start = stop
    return spans


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
