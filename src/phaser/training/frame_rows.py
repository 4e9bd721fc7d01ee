"""Where the frames of one task lie: which row of a table belongs to which frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from phaser.core.demonstration import Demo, FrameRef
from phaser.core.errors import BadInput


class Rows(Protocol):
    """Finds the row of a frame."""

    def row(self, ref: FrameRef) -> int: ...

    def refs(self, task: str) -> list[FrameRef]: ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DemoRows:
    """Whole demonstrations, one after the other."""

    offsets: Mapping[int, int]
    lengths: Mapping[int, int]

    @classmethod
    def of(cls, demos: Sequence[Demo]) -> DemoRows:
        lengths = {demo.index: demo.num_frames for demo in demos}
        starts = np.cumsum([0, *lengths.values()])[:-1].tolist()
        return cls(offsets=dict(zip(lengths, starts, strict=True)), lengths=lengths)

    @property
    def num_rows(self) -> int:
        return sum(self.lengths.values())

    def row(self, ref: FrameRef) -> int:
        if ref.demo not in self.lengths or not 0 <= ref.frame < self.lengths[ref.demo]:
            raise BadInput(f"{ref} is not among the recorded frames")
        return self.offsets[ref.demo] + ref.frame

    def refs(self, task: str) -> list[FrameRef]:
        return [
            FrameRef(task, demo, frame)
            for demo, length in self.lengths.items()
            for frame in range(length)
        ]


def rows_in_order(count: int) -> DemoRows:
    """Frame k of demonstration 0 is row k."""
    return DemoRows(offsets={0: 0}, lengths={0: count})


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class KeptRows:
    """Single frames, in the order in which they were kept."""

    rows: Mapping[tuple[int, int], int]

    @classmethod
    def of(cls, refs: Sequence[FrameRef]) -> KeptRows:
        return cls(rows={(ref.demo, ref.frame): row for row, ref in enumerate(refs)})

    def row(self, ref: FrameRef) -> int:
        try:
            return self.rows[ref.demo, ref.frame]
        except KeyError:
            raise BadInput(f"{ref} is not among the kept frames") from None

    def refs(self, task: str) -> list[FrameRef]:
        return [FrameRef(task, demo, frame) for demo, frame in self.rows]
