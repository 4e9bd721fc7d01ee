"""Two small cameras, drawn the same way when demonstrations are recorded and when policies run.

Shadows, reflections and multisampling cost four fifths of the time on a CPU, and the robot's base,
which lies outside both views, a quarter of the rest; all are off, everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import UInt8

from phaser.suites.mujoco_library import mujoco
from phaser.suites.renderer import Renderer

IMAGE_SIZE = 96
CORNER: dict[str, Any] = {
    "lookat": [0.0, 0.66, 0.12],
    "distance": 1.05,
    "azimuth": 141.0,
    "elevation": -32.0,
}
"""The viewpoint of Meta-World's `corner2`, which itself renders upside down."""

CAMERAS = {"corner": None, "gripper": "gripperPOV"}
"""Our name of each camera and its name in the model; none means the free camera above."""

HIDDEN_BODIES = frozenset(
    {
        *("controller_box", "head", "pedestal", "pedestal_feet", "screen", "torso"),
        *("right_arm_base_link", "right_l0", "right_l1"),
    }
)


def simplify(model: Any) -> None:
    """Turn off what costs time and is not seen. Physics does not read any of it."""
    model.vis.quality.shadowsize = 0
    model.vis.quality.offsamples = 0
    model.light_castshadow[:] = 0
    model.mat_reflectance[:] = 0
    for geom in range(model.ngeom):
        if model.body(model.geom_bodyid[geom]).name in HIDDEN_BODIES:
            model.geom_rgba[geom, 3] = 0
            model.geom_matid[geom] = -1


class Cameras:
    """Both cameras of one simulator, sharing one renderer, made when first used."""

    def __init__(self, model: Any, data: Any) -> None:
        simplify(model)
        without = ("SHADOW", "REFLECTION", "SKYBOX", "HAZE")
        self._renderer = Renderer(model, data, size=IMAGE_SIZE, without=without)
        self._corner: Any = None

    def read(self) -> dict[str, UInt8[np.ndarray, "height width 3"]]:
        if self._corner is None:
            self._corner = _corner()
        return {
            name: self._renderer.draw(camera or self._corner) for name, camera in CAMERAS.items()
        }

    def close(self) -> None:
        self._renderer.close()


def _corner() -> Any:
    library = mujoco()
    camera = library.MjvCamera()
    camera.type = library.mjtCamera.mjCAMERA_FREE
    camera.lookat[:] = CORNER["lookat"]
    camera.distance = CORNER["distance"]
    camera.azimuth = CORNER["azimuth"]
    camera.elevation = CORNER["elevation"]
    return camera
