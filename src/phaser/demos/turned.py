"""Images turned while they are read: what is stored upside down can be set upright, on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

from phaser.core.demonstration import Images
from phaser.core.errors import UnknownName

AS_STORED = "as-stored"
TURNS = {
    AS_STORED: (1, 1),
    "flip-vertical": (-1, 1),
    "flip-horizontal": (1, -1),
    "rotate-180": (-1, -1),
}
"""Steps over rows and columns. LIBERO's HDF5: `flip-vertical` undoes OpenGL's order of rows,
`rotate-180` is what OpenVLA-OFT and its kin train on, which mirrors the scene; `flip-horizontal`
undoes that in datasets that were stored so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnedImages:
    """The same frames with their rows, or rows and columns, in reverse order."""

    images: Images
    turn: str

    def __post_init__(self) -> None:
        check_turn(self.turn)

    def __len__(self) -> int:
        return len(self.images)

    def read(self, frames: Sequence[int]) -> UInt8[np.ndarray, "count height width 3"]:
        down, right = TURNS[self.turn]
        return np.ascontiguousarray(self.images.read(frames)[:, ::down, ::right])


def check_turn(turn: str) -> None:
    if turn not in TURNS:
        raise UnknownName("image turn", turn, TURNS)
