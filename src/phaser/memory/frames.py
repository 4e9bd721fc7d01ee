"""Frames of a task by phase, and chosen frames put back into their phases' buckets."""

from __future__ import annotations

from collections.abc import Iterable

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.memory import Bucket, PreparedTask

DemoFrames = tuple[tuple[FrameRef, ...], ...]
"""Frames in order of time, one tuple per demonstration; a demonstration may have none."""


def check_enough(available: int, count: int) -> None:
    if count > available:
        raise BadInput(
            f"a budget of {count} frames, but the task offers {available}; "
            "lower the budget or record more demonstrations"
        )


def frames_of_task(task: PreparedTask) -> DemoFrames:
    """Every frame of every demonstration."""
    _check_distinct_demos(task)
    return tuple(
        tuple(FrameRef(task.task.name, demo.index, frame) for frame in range(demo.num_frames))
        for demo in task.demos
    )


def frames_of_phase(task: PreparedTask, phase: int, *, stride: int) -> DemoFrames:
    """Every `stride`-th frame, counted from the start of the phase so that none loses them all."""
    _check_distinct_demos(task)
    label = task.labels[phase]
    return tuple(
        tuple(
            FrameRef(task.task.name, demo.index, frame)
            for frame in cut.frames_of(label, stride=stride)
        )
        for demo, cut in zip(task.demos, task.segmentations, strict=True)
    )


def into_buckets(
    task: PreparedTask, frames: Iterable[FrameRef], ranks: Iterable[int] | None = None
) -> list[Bucket]:
    """Buckets of the phases that received frames, in order; a phase without frames has none.

    `ranks` says which of the frames the rule would keep first if it had room for fewer; left out,
    those that come first.
    """
    chosen = list(frames)
    rank_of = dict(zip(chosen, range(len(chosen)) if ranks is None else ranks, strict=True))
    segmentation_of = {
        demo.index: segmentation
        for demo, segmentation in zip(task.demos, task.segmentations, strict=True)
    }
    ids = task.phase_ids()
    places = {one.label: one.index for one in ids}
    by_phase: dict[int, list[FrameRef]] = {}
    for frame in chosen:
        cut = segmentation_of[frame.demo]
        label = cut.phases[cut.phase_at(frame.frame)].label
        by_phase.setdefault(places[label], []).append(frame)
    return [
        Bucket(
            phase=ids[phase],
            frames=tuple(sorted(by_phase[phase])),
            prototype=task.prototypes[phase],
            ranks=tuple(rank_of[frame] for frame in sorted(by_phase[phase])),
        )
        for phase in sorted(by_phase)
    ]


def _check_distinct_demos(task: PreparedTask) -> None:
    indices = [demo.index for demo in task.demos]
    if len(set(indices)) != len(indices):
        raise BadInput(f"task {task.task.name!r} has demonstrations with the same index: {indices}")
