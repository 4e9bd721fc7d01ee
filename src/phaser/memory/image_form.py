"""Which arrays are images, and how they become the pixels that a codec takes.

An image is uint8, or floating point whose values are exactly k / 255 as data loaders make them;
height, width and colour in either order, with any number of frames stacked before them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from jaxtyping import UInt8

from phaser.memory.codecs import MAX_PIXELS

MIN_SIDE = 16
"""Smaller arrays are more likely to be something else, and hardly shrink."""
Layout = Literal["hwc", "chw", "hw"]
Scale = Literal["bytes", "divided", "multiplied"]
"""Pixels as they are; k / 255; or k * (1 / 255), which differs in the last bit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageForm:
    """How the array of an image leaf relates to pixels; all frames of the leaf share it."""

    layout: Layout
    scale: Scale

    def pixels(self, array: np.ndarray) -> UInt8[np.ndarray, "height width channels"] | None:
        """Pixels that stand for exactly this array; None where there are none."""
        if not self.fits(array.shape):
            return None
        values = array if self.scale == "bytes" else _levels(array, self.scale)
        if values is None:
            return None
        if self.layout == "chw":
            values = np.moveaxis(values, -3, -1)
        return np.ascontiguousarray(values).reshape(self.pixel_shape(array.shape))

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of this shape can be an image of this form."""
        return _is_image(shape, self.layout)

    def pixel_shape(self, shape: tuple[int, ...]) -> tuple[int, int, int]:
        """Height, width and channels of the picture that holds an array of this shape."""
        if self.layout == "hw":
            return shape[0], shape[1], 1
        channels, height, width = shape[-3:] if self.layout == "chw" else (shape[-1], *shape[-3:-1])
        return math.prod(shape[:-3]) * height, width, channels

    def array(
        self,
        pixels: UInt8[np.ndarray, "height width channels"],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> np.ndarray:
        """The array that these pixels stand for, in memory of its own."""
        if self.layout == "chw":
            channels, height, width = shape[-3:]
            pixels = np.moveaxis(pixels.reshape(*shape[:-3], height, width, channels), -1, -3)
        values = pixels.reshape(shape)
        if self.scale != "bytes":
            scaled: np.ndarray = _table(self.scale, dtype)[values]
            return scaled
        return np.array(values, order="C")


def form_of(array: np.ndarray, *, pil: bool) -> ImageForm | None:
    """The form of an image array, or None for what is no image."""
    layouts: tuple[Layout, ...] = ("hw", "hwc") if pil else ("hwc", "chw")
    for layout in layouts:
        if not _is_image(array.shape, layout):
            continue
        if array.dtype == np.uint8:
            return ImageForm(layout=layout, scale="bytes")
        scales: tuple[Scale, ...] = ("divided", "multiplied")
        for scale in scales:
            if array.dtype.kind == "f" and _levels(array, scale) is not None:
                return ImageForm(layout=layout, scale=scale)
    return None


def _is_image(shape: tuple[int, ...], layout: Layout) -> bool:
    sides: tuple[int, ...]
    if layout == "hw":
        channels, sides = 1, shape if len(shape) == 2 else (0,)
    elif len(shape) in (3, 4):
        channels = shape[-3] if layout == "chw" else shape[-1]
        sides = shape[-2:] if layout == "chw" else shape[-3:-1]
    else:
        return False
    plausible = channels in (1, 3) and min(sides) >= MIN_SIDE
    return plausible and 0 < math.prod(shape) // channels <= MAX_PIXELS


def _levels(array: np.ndarray, scale: Scale) -> UInt8[np.ndarray, "..."] | None:
    """k of every value, if all are exactly what k stands for, to the last bit."""
    if not (array.min() >= 0 and array.max() <= 1):  # also false for NaN
        return None
    levels = np.rint(array.astype(np.float64) * 255).astype(np.uint8)
    bits = np.dtype(f"u{array.dtype.itemsize}")
    same = _table(scale, array.dtype)[levels].view(bits) == np.ascontiguousarray(array).view(bits)
    return levels if same.all() else None


@lru_cache(maxsize=16)
def _table(scale: Scale, dtype: np.dtype[Any]) -> np.ndarray:
    levels = np.arange(256, dtype=dtype)
    one = dtype.type(255)
    made: np.ndarray = levels / one if scale == "divided" else levels * (dtype.type(1) / one)
    return made
