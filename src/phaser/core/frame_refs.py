"""References to many stored frames of one task, as two arrays instead of a million objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from jaxtyping import Int

from phaser.core.demonstration import FrameRef


class FrameRefs(Sequence[FrameRef]):
    """A sequence that makes each FrameRef when it is asked for; whoever builds it vouches that
    the frames are distinct."""

    __slots__ = ("demos", "frames", "task")

    def __init__(
        self, task: str, demos: Int[np.ndarray, "count"], frames: Int[np.ndarray, "count"]
    ) -> None:
        self.task = task
        self.demos = demos
        self.frames = frames

    def __len__(self) -> int:
        return len(self.demos)

    @overload
    def __getitem__(self, index: int) -> FrameRef: ...

    @overload
    def __getitem__(self, index: slice) -> FrameRefs: ...

    def __getitem__(self, index: int | slice) -> FrameRef | FrameRefs:
        if isinstance(index, slice):
            return FrameRefs(self.task, self.demos[index], self.frames[index])
        return FrameRef(self.task, self.demos.item(index), self.frames.item(index))

    def __iter__(self) -> Iterator[FrameRef]:
        pairs = zip(self.demos.tolist(), self.frames.tolist(), strict=True)
        return (FrameRef(self.task, demo, frame) for demo, frame in pairs)

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence of the same frames in the same order."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"FrameRefs({self.task!r}, {len(self)} frames)"


def places_by_task(refs: Sequence[FrameRef]) -> dict[str, list[int]]:
    """By task the places of its frames in a sequence."""
    places: dict[str, list[int]] = {}
    for place, ref in enumerate(refs):
        places.setdefault(ref.task, []).append(place)
    return places
