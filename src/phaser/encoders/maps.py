"""EfficientNet-lite0 as a vision encoder of all cameras: feature maps, and one vector per frame.

The tiny policy reads the maps; prototypes and rules that compare frames read the vectors. Both are
computed once per recording and cached under one identity where they need the same maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float

from phaser.encoders.efficientnet import EfficientNetLite0


@dataclass(frozen=True, kw_only=True, slots=True)
class EfficientNetMaps:
    """A coarse map (stride 16) of every camera, and a fine one (stride 8) of some."""

    cameras: tuple[str, ...]
    fine_cameras: tuple[str, ...]

    @property
    def identity(self) -> str:
        return "-".join([EfficientNetLite0.identity, "maps-2", *self.fine_cameras])

    @property
    def depths(self) -> dict[str, int]:
        """The channels of each map, by its name."""
        fine, coarse = EfficientNetLite0.channels
        return {f"{camera}_fine": fine for camera in self.fine_cameras} | {
            f"{camera}_coarse": coarse for camera in self.cameras
        }

    def __call__(self, images: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        maps: dict[str, np.ndarray] = {}
        for camera in self.cameras:
            fine, coarse = _network().maps(images[camera])
            if camera in self.fine_cameras:
                maps[f"{camera}_fine"] = fine.half().contiguous().numpy()
            maps[f"{camera}_coarse"] = coarse.half().contiguous().numpy()
        return maps

    def describe(self, maps: Mapping[str, np.ndarray]) -> Float[np.ndarray, "count vision"]:
        """The means of all maps over space, side by side."""
        return np.concatenate(
            [rows.mean((2, 3), dtype=np.float32) for rows in maps.values()], axis=1
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PlainPixels:
    """The images themselves, decoded once and cached, for a policy that trains its own encoder."""

    cameras: tuple[str, ...]

    @property
    def identity(self) -> str:
        return "pixels"

    def __call__(self, images: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {camera: images[camera] for camera in self.cameras}


@cache
def _network() -> EfficientNetLite0:
    """Loaded once per process; it has no state."""
    return EfficientNetLite0()
