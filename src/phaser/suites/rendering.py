"""Two small cameras, drawn the same way when demonstrations are recorded and when policies run.

Shadows, reflections and multisampling cost four fifths of the time on a CPU, and the robot's base,
which lies outside both views, a quarter of the rest; all are off, everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import UInt8

from phaser.suites.libraries import mujoco

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
        self._renderer: Any = None
        simplify(model)
        self._model, self._data = model, data
        self._corner: Any = None

    def read(self) -> dict[str, UInt8[np.ndarray, "height width 3"]]:
        if self._renderer is None:
            self._open()
        return {name: self._draw(camera) for name, camera in CAMERAS.items()}

    def close(self) -> None:
        """Free the GL objects of this renderer, and only of this one.

        MuJoCo frees them in whichever context is current, which breaks the other renderers of
        the process; so ours is made current first.
        """
        renderer, self._renderer = self._renderer, None
        if renderer is None:
            return
        renderer._gl_context.make_current()
        renderer._mjr_context.free()
        renderer._mjr_context = None
        renderer.close()

    def __del__(self) -> None:
        self.close()

    def _draw(self, camera: str | None) -> UInt8[np.ndarray, "height width 3"]:
        self._renderer.update_scene(self._data, camera=camera or self._corner)
        return self._renderer.render().copy()

    def _open(self) -> None:
        library = mujoco()
        self._renderer = library.Renderer(self._model, IMAGE_SIZE, IMAGE_SIZE, max_geom=2000)
        flags = library.mjtRndFlag
        for name in ("SHADOW", "REFLECTION", "SKYBOX", "HAZE"):
            self._renderer.scene.flags[getattr(flags, f"mjRND_{name}")] = 0
        self._corner = library.MjvCamera()
        self._corner.type = library.mjtCamera.mjCAMERA_FREE
        self._corner.lookat[:] = CORNER["lookat"]
        self._corner.distance = CORNER["distance"]
        self._corner.azimuth = CORNER["azimuth"]
        self._corner.elevation = CORNER["elevation"]
