"""Images of one size: checked when they are read, or brought to it where that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from phaser.core.demonstration import Images
from phaser.core.errors import BrokenFile

RESIZING = "bilinear, averaging where it shrinks; the whole image, whatever its ratio of sides"
"""How images are resized, for whoever has to know what a policy was trained on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SizedImages:
    """The same frames at one size; with `resize`, others are resized, else they are refused."""

    images: Images
    size: tuple[int, int]
    """Height and width."""
    resize: bool
    where: str
    """The demonstration that the frames belong to, for messages."""

    def __len__(self) -> int:
        return len(self.images)

    def read(self, frames: Sequence[int]) -> UInt8[np.ndarray, "count height width 3"]:
        pixels = self.images.read(frames)
        found = pixels.shape[1:3]
        if found == self.size or not len(pixels):
            return pixels
        if not self.resize:
            raise BrokenFile(
                f"{self.where} has frames of {found[0]} x {found[1]} pixels, the others have "
                f"{self.size[0]} x {self.size[1]}; give one size for all"
            )
        height, width = self.size
        return np.stack(
            [
                np.asarray(Image.fromarray(one).resize((width, height), Image.Resampling.BILINEAR))
                for one in pixels
            ]
        )
