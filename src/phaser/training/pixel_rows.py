"""Pixels of recorded frames, read when a batch asks for them: for policies without a front end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int, UInt8

from phaser.core.demonstration import Demo


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PixelRows:
    """The images of one camera over all demonstrations of a task, as rows; nothing is held."""

    demos: Sequence[Demo]
    camera: str
    image_size: tuple[int, int]
    starts: Int[np.ndarray, "edges"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        edges = np.cumsum([0, *(demo.num_frames for demo in self.demos)])
        object.__setattr__(self, "starts", edges)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.image_size, 3)

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        return np.dtype(np.uint8)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, rows: list[int]) -> UInt8[np.ndarray, "count height width 3"]:
        """The images of these rows; those of one demonstration are read in one go."""
        pixels = np.empty((len(rows), *self.image_size, 3), np.uint8)
        demos = np.searchsorted(self.starts, rows, side="right") - 1
        for demo in np.unique(demos).tolist():
            where = np.flatnonzero(demos == demo)
            frames = [rows[place] - int(self.starts[demo]) for place in where]
            pixels[where] = self.demos[demo].cameras[self.camera].read(frames)
        return pixels
