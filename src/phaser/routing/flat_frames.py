"""All stored frames one after the other, so that a draw touches memory once per frame it takes.

Following a bucket to its frames costs several cache misses for each frame drawn, which at 10^5
phases is most of a draw. Frames stay numbers, 20 bytes each, and become objects when looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from jaxtyping import Int32, Int64

from phaser.core.demonstration import FrameRef
from phaser.core.memory import Memory


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FlatFrames:
    """The frames of all buckets, by position."""

    names: tuple[str, ...]
    tasks: Int32[np.ndarray, "frames"]
    """Which of `names` a frame belongs to."""
    demos: Int64[np.ndarray, "frames"]
    frames: Int64[np.ndarray, "frames"]

    @classmethod
    def of(cls, memory: Memory) -> FlatFrames:
        """The frames of the buckets in order; the work of a task's start, not of a step."""
        names: list[str] = []
        tasks: list[np.ndarray] = []
        for block in memory.blocks:
            tasks.append(np.repeat(block.codes + np.int32(len(names)), block.sizes))
            names += block.tasks
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            names=tuple(names),
            tasks=np.concatenate([nothing.astype(np.int32), *tasks]),
            demos=np.concatenate([nothing, *(block.demos for block in memory.blocks)]),
            frames=np.concatenate([nothing, *(block.frames for block in memory.blocks)]),
        )

    def take(self, positions: Int64[np.ndarray, "count"]) -> DrawnFrames:
        return DrawnFrames(self, positions)


class DrawnFrames(Sequence[FrameRef]):
    """The frames at some positions, in their order; making the objects costs more than drawing."""

    __slots__ = ("_flat", "_positions")

    def __init__(self, flat: FlatFrames, positions: Int64[np.ndarray, "count"]) -> None:
        self._flat = flat
        self._positions = positions

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> FrameRef: ...

    @overload
    def __getitem__(self, index: slice) -> DrawnFrames: ...

    def __getitem__(self, index: int | slice) -> FrameRef | DrawnFrames:
        if isinstance(index, slice):
            return DrawnFrames(self._flat, self._positions[index])
        flat, at = self._flat, self._positions[index]
        return FrameRef(flat.names[flat.tasks[at]], int(flat.demos[at]), int(flat.frames[at]))

    def __iter__(self) -> Iterator[FrameRef]:
        flat, at = self._flat, self._positions
        columns = (column[at].tolist() for column in (flat.tasks, flat.demos, flat.frames))
        return (FrameRef(flat.names[task], d, f) for task, d, f in zip(*columns, strict=True))

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence of the same frames in the same order."""
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"DrawnFrames({list(self)!r})"
