"""One renderer of one simulator: drawn on demand, opened late, closed without breaking others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import UInt8

from phaser.suites.mujoco_library import mujoco


class Renderer:
    """Draws a model's cameras, rows from top to bottom; made when something is first drawn."""

    def __init__(self, model: Any, data: Any, *, size: int, without: Sequence[str] = ()) -> None:
        """`without`: what is not drawn of a scene (SHADOW, SKYBOX, ...)."""
        self._opened: Any = None
        self._model, self._data, self._size = model, data, size
        self._without = tuple(without)

    def draw(
        self, camera: Any, *, hidden: Sequence[int] = ()
    ) -> UInt8[np.ndarray, "height width 3"]:
        """What a camera sees, given by its name in the model or as MuJoCo's own value.

        `hidden`: groups of geoms that are left out.
        """
        if self._opened is None:
            self._open()
        for group in range(len(self._options.geomgroup)):
            self._options.geomgroup[group] = self._shown[group] and group not in hidden
        self._opened.update_scene(self._data, camera=camera, scene_option=self._options)
        return self._opened.render().copy()

    def close(self) -> None:
        """Free the GL objects of this renderer, and only of this one.

        MuJoCo frees them in whichever context is current, which breaks the other renderers of
        the process; so ours is made current first.
        """
        opened, self._opened = self._opened, None
        if opened is None:
            return
        opened._gl_context.make_current()
        opened._mjr_context.free()
        opened._mjr_context = None
        opened.close()

    def __del__(self) -> None:
        self.close()

    def _open(self) -> None:
        library = mujoco()
        self._opened = library.Renderer(self._model, self._size, self._size, max_geom=2000)
        for name in self._without:
            self._opened.scene.flags[getattr(library.mjtRndFlag, f"mjRND_{name}")] = 0
        self._options = library.MjvOption()
        self._shown = tuple(bool(shown) for shown in self._options.geomgroup)
