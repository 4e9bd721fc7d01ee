"""All stored frames one after the other, so that a draw touches memory once per frame it takes.

Following a bucket to its frames costs several cache misses for each frame drawn, which at 10^5
phases is most of a draw. Frames stay numbers, 20 bytes each, and become objects when drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int32, Int64

from phaser.core.demonstration import FrameRef
from phaser.core.frame_refs import FrameRefs
from phaser.core.memory import Bucket


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FlatFrames:
    """The frames of all buckets, by position."""

    names: tuple[str, ...]
    tasks: Int32[np.ndarray, "frames"]
    """Which of `names` a frame belongs to."""
    demos: Int64[np.ndarray, "frames"]
    frames: Int64[np.ndarray, "frames"]

    @classmethod
    def of(cls, buckets: Sequence[Bucket]) -> FlatFrames:
        """The frames of the buckets in order; the work of a task's start, not of a step."""
        codes: dict[str, int] = {}
        tasks = [codes.setdefault(bucket.phase.task, len(codes)) for bucket in buckets]
        parts = [_numbers(bucket) for bucket in buckets]
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            names=tuple(codes),
            tasks=np.repeat(np.array(tasks, np.int32), [len(demos) for demos, _ in parts]),
            demos=np.concatenate([nothing, *(demos for demos, _ in parts)]),
            frames=np.concatenate([nothing, *(frames for _, frames in parts)]),
        )

    def take(self, positions: Int64[np.ndarray, "count"]) -> list[FrameRef]:
        names = self.names
        columns = (column[positions].tolist() for column in (self.tasks, self.demos, self.frames))
        return [FrameRef(names[task], demo, at) for task, demo, at in zip(*columns, strict=True)]


def _numbers(bucket: Bucket) -> tuple[Int64[np.ndarray, "count"], Int64[np.ndarray, "count"]]:
    if isinstance(bucket.frames, FrameRefs):
        refs = bucket.frames
        return refs.demos.astype(np.int64), refs.frames.astype(np.int64)
    pairs = np.array([(ref.demo, ref.frame) for ref in bucket.frames], dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]
