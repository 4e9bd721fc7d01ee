"""Changes of colour for training: brightness, contrast, saturation and hue of each image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8

from phaser.core.ranges import AMOUNT, check_ranges

_GREY = np.array([0.2989, 0.587, 0.114], np.float32)


@dataclass(frozen=True, kw_only=True, slots=True)
class ColourChanges:
    """Ranges of the changes; the defaults are those of OpenVLA's recipe."""

    brightness: float = 0.2
    """Largest amount that is added to or taken from every number of an image in [0, 1]."""
    contrast: float = 0.2
    """Distances from the mean colour are multiplied by 1 plus or minus at most this."""
    saturation: float = 0.2
    """Distances from grey are multiplied by 1 plus or minus at most this."""
    hue: float = 0.05
    """Largest turn of the colour circle, as a share of it."""

    def __post_init__(self) -> None:
        check_ranges(self, brightness=AMOUNT, contrast=AMOUNT, saturation=AMOUNT, hue=AMOUNT)

    def __call__(
        self, image: UInt8[np.ndarray, "height width 3"], generator: np.random.Generator
    ) -> UInt8[np.ndarray, "height width 3"]:
        """The image with changes drawn from this generator."""
        brightness, contrast, saturation, hue = generator.uniform(-1, 1, 4).astype(np.float32)
        x = image.astype(np.float32) / 255 + brightness * self.brightness
        mean = x.mean((0, 1), keepdims=True)
        x = (x - mean) * (1 + contrast * self.contrast) + mean
        x = np.clip(x, 0, 1)
        grey = (x @ _GREY)[..., None]
        x = grey + (x - grey) * (1 + saturation * self.saturation)
        x = x @ _hue_turn(2 * np.pi * hue * self.hue).T
        return np.rint(np.clip(x, 0, 1) * 255).astype(np.uint8)


def _hue_turn(angle: float) -> Float[np.ndarray, "3 3"]:
    """A turn about the grey axis, which keeps every grey as it is."""
    cosine, sine = np.cos(angle), np.sin(angle)
    third = (1 - cosine) / 3
    root = sine / np.sqrt(3)
    turn = np.full((3, 3), third) + np.eye(3) * cosine
    turn += root * np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    return turn.astype(np.float32)
