"""Check a rule that keeps frames: exact budget, distinct frames, the right phases, repeatable."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phaser.core.memory import Bucket, PreparedTask
from phaser.core.ports import Keep
from phaser.core.streams import Streams
from phaser.testing.made_up import made_up_task
from phaser.testing.verdict import require


def check_keep(
    keep: Keep, make_task: Callable[[], PreparedTask] = made_up_task, *, num_frames: int = 20
) -> None:
    """Select from a task and hold the outcome against the port's promises.

    make_task: gives the task to select from; a made-up one by default.
    num_frames: how many frames the rule is asked to keep.
    """
    require(
        isinstance(keep, Keep), keep, "lacks part of the port: inherit from phaser.core.ports.Keep"
    )
    task = make_task()
    stream = Streams(0).named("keep", task.task.name)
    buckets = keep.select(task, num_frames, stream)
    _check_budget(keep, buckets, num_frames if keep.keeps_frames else 0)
    for bucket in buckets:
        _check_bucket(keep, bucket, task)
    again = keep.select(task, num_frames, stream)
    require(
        [bucket.frames for bucket in buckets] == [bucket.frames for bucket in again],
        keep,
        "kept other frames from the same stream; draw only from the stream it is given",
    )
    require(
        len(keep.candidates(task)) == len(task.labels),
        keep,
        f"candidates for {len(keep.candidates(task))} phases of a task with {len(task.labels)}",
    )
    if buckets:
        _check_shrinking(keep, buckets)


def _check_shrinking(keep: Keep, buckets: Sequence[Bucket]) -> None:
    """A stored task that gives way keeps some of its own frames, as many as it is told."""
    frames = {frame for bucket in buckets for frame in bucket.frames}
    for count in range(keep.fewest_of(buckets), len(frames) + 1):
        fewer = [frame for bucket in keep.shrink(buckets, count) for frame in bucket.frames]
        require(
            len(set(fewer)) == len(fewer) == count and set(fewer) <= frames,
            keep,
            f"shrank {len(frames)} stored frames to {len(fewer)}, expected {count} of them",
        )


def _check_budget(keep: Keep, buckets: Sequence[Bucket], num_frames: int) -> None:
    frames = [frame for bucket in buckets for frame in bucket.frames]
    require(
        len(frames) == num_frames,
        keep,
        f"kept {len(frames)} frames, expected exactly {num_frames}",
    )
    require(len(set(frames)) == len(frames), keep, "kept a frame twice, in two buckets")
    phases = [bucket.phase for bucket in buckets]
    require(len(set(phases)) == len(phases), keep, f"gave one phase two buckets: {phases}")


def _check_bucket(keep: Keep, bucket: Bucket, task: PreparedTask) -> None:
    ids = task.phase_ids()
    require(bucket.phase in ids, keep, f"bucket of {bucket.phase}, which is no phase of the task")
    its_frames = {
        demo.index: set(cut.frames_of(bucket.phase.label))
        for demo, cut in zip(task.demos, task.segmentations, strict=True)
    }
    for frame in bucket.frames:
        require(
            frame.task == task.task.name and frame.demo in its_frames,
            keep,
            f"kept {frame}, which is not among the task's demonstrations",
        )
        require(
            frame.frame in its_frames[frame.demo],
            keep,
            f"put {frame} into {bucket.phase.label!r}, which has no such frame",
        )
    require(
        bucket.prototype is task.prototypes[bucket.phase.index],
        keep,
        f"bucket {bucket.phase.label!r} carries the prototype of another phase",
    )
