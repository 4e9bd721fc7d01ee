"""Images of a sample as pixels, whatever their type: what the vision encoder looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from phaser.core.errors import BadInput
from phaser.replay.columns import Columns, Key, entry
from phaser.replay.tensors import as_array

LEROBOT_PREFIX = "observation.image"

Pixels = UInt8[np.ndarray, "height width 3"]


def image_names(sample: Any, columns: Columns) -> tuple[Key, ...]:
    """The entries that hold images: as told, else LeRobot's."""
    if columns.images is not None:
        return columns.images
    names = list(sample) if isinstance(sample, Mapping) else []
    found = tuple(
        name
        for name in names
        if str(name).startswith(LEROBOT_PREFIX) and not str(name).endswith("_is_pad")
    )
    if not found:
        raise BadInput(
            f"no images among {sorted(map(str, names))}; name them: Replay(…, columns=Columns("
            "images=('camera',))), or route without: Columns(images=())"
        )
    return found


def images_of(sample: Any, names: tuple[Key, ...], *, row: int) -> list[Pixels]:
    """The images under these names, one per camera; a list of images is one camera each."""
    found: list[Pixels] = []
    for name in names:
        value = entry(sample, name, row=row)
        several = isinstance(value, list | tuple)
        found += [pixels(one, name=name) for one in (value if several else [value])]
    return found


def pixels(value: Any, *, name: Key) -> Pixels:
    """Height, width, RGB in bytes; of a history of images the last, which is the present."""
    if isinstance(value, Image.Image):
        return np.asarray(value.convert("RGB"))
    image = as_array(value)
    if image.ndim == 4:
        image = image[-1]
    channels_first = image.ndim == 3 and image.shape[0] in (1, 3) and image.shape[2] not in (1, 3)
    image = np.moveaxis(image, 0, 2) if channels_first else image
    if image.ndim != 3 or image.shape[2] not in (1, 3):
        raise BadInput(
            f"image {name!r} has shape {as_array(value).shape}; expected height × width × 3, "
            "or the channels first"
        )
    if image.dtype != np.uint8:
        image = _bytes(image, name)
    return np.ascontiguousarray(np.broadcast_to(image, (*image.shape[:2], 3)))


def _bytes(image: np.ndarray, name: Key) -> np.ndarray:
    floating = np.issubdtype(image.dtype, np.floating)
    if not floating or not (image.min() >= 0 and image.max() <= 1):
        raise BadInput(
            f"image {name!r} is {image.dtype} from {image.min()} to {image.max()}; expected uint8, "
            "or numbers from 0 to 1 (give replay the images before they are normalised)"
        )
    return np.round(image * 255).astype(np.uint8)
