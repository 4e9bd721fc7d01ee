"""Phases that a dataset carries itself, as an annotation that a run or `Replay` uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby

from phaser.core.errors import BadInput
from phaser.core.segmentation import Segmentation
from phaser.phases.annotated import Annotation
from phaser.phases.stage_info import EpisodeStages, RatioPhase

IN_DATASET = "dataset"
"""The word that asks for these phases in place of a file's name."""


def annotation_of(task: str, phases: Mapping[int, Segmentation]) -> Annotation:
    """The annotation of a task by the phases of its episodes, some of which may lack theirs.

    Args:
        task: the task's name.
        phases: by an episode's number its phases.
    """
    if not phases:
        raise BadInput(f"no episode of task {task!r} has phases; expected at least one")
    cut = {episode: merged(found) for episode, found in phases.items()}
    usual, _ = Counter(one.labels for one in cut.values()).most_common(1)[0]
    typical = next(one for one in cut.values() if one.labels == usual)
    total = typical.num_frames
    return Annotation(
        task=task,
        phases=tuple(
            RatioPhase(name=one.label, start_ratio=one.start / total, end_ratio=one.stop / total)
            for one in typical.phases
        ),
        episodes=tuple(
            EpisodeStages(
                episode=episode,
                num_frames=one.num_frames,
                boundaries=one.boundaries,
                phases=() if one.labels == usual else one.labels,
            )
            for episode, one in sorted(cut.items())
        ),
    )


def merged(found: Segmentation) -> Segmentation:
    """Neighbours of one name become one phase."""
    runs = [list(part) for _, part in groupby(found.phases, key=lambda one: one.label)]
    return Segmentation.from_boundaries(
        [run[0].start for run in runs[1:]],
        num_frames=found.num_frames,
        labels=[run[0].label for run in runs],
    )
