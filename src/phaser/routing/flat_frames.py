"""All stored frames one after the other, so that a draw touches memory once per frame it takes.

Following a bucket to its frames costs several cache misses for each frame drawn, which at 10^5
phases is most of a draw. Frames that are objects already are listed; frames that a store holds as
numbers stay numbers, 20 bytes each, and become objects when drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int32, Int64

from phaser.core.demonstration import FrameRef
from phaser.core.frame_refs import FrameRefs
from phaser.core.memory import Bucket


@runtime_checkable
class FlatFrames(Protocol):
    """The frames of all buckets, by position."""

    def take(self, positions: Int64[np.ndarray, "count"]) -> list[FrameRef]: ...


def flat_frames(buckets: Sequence[Bucket]) -> FlatFrames:
    """The frames of the buckets in order; the work of a task's start, not of a step."""
    if any(isinstance(bucket.frames, FrameRefs) for bucket in buckets):
        return _Numbers.of(buckets)
    return _Objects(list(chain.from_iterable(bucket.frames for bucket in buckets)))


@dataclass(frozen=True, slots=True, eq=False)
class _Objects:
    frames: list[FrameRef]

    def take(self, positions: Int64[np.ndarray, "count"]) -> list[FrameRef]:
        frames = self.frames
        return [frames[position] for position in positions.tolist()]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Numbers:
    names: tuple[str, ...]
    tasks: Int32[np.ndarray, "frames"]
    """Which of `names` a frame belongs to."""
    demos: Int64[np.ndarray, "frames"]
    frames: Int64[np.ndarray, "frames"]

    @classmethod
    def of(cls, buckets: Sequence[Bucket]) -> _Numbers:
        num_frames = sum(len(bucket.frames) for bucket in buckets)
        codes: dict[str, int] = {}
        tasks = np.empty(num_frames, dtype=np.int32)
        demos, frames = (np.empty(num_frames, dtype=np.int64) for _ in range(2))
        refs = chain.from_iterable(bucket.frames for bucket in buckets)
        for position, ref in enumerate(refs):
            tasks[position] = codes.setdefault(ref.task, len(codes))
            demos[position], frames[position] = ref.demo, ref.frame
        return cls(names=tuple(codes), tasks=tasks, demos=demos, frames=frames)

    def take(self, positions: Int64[np.ndarray, "count"]) -> list[FrameRef]:
        names = self.names
        columns = (column[positions].tolist() for column in (self.tasks, self.demos, self.frames))
        return [FrameRef(names[task], demo, at) for task, demo, at in zip(*columns, strict=True)]
