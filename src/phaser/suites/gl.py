"""Which GL library draws without a screen; chosen before mujoco is imported."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Callable, MutableMapping

from phaser.core.errors import BadInput, MissingDependency

VARIABLE = "MUJOCO_GL"
# OSMesa first: it draws the same pixels with and without a graphics card.
LIBRARIES = {"osmesa": ("OSMesa", "libOSMesa.so.8"), "egl": ("EGL", "libEGL.so.1")}
BACKENDS = ("osmesa", "egl", "glfw")


def loads(backend: str) -> bool:
    """Whether the library of a backend can be loaded on this machine."""
    name, fallback = LIBRARIES[backend]
    try:
        ctypes.CDLL(ctypes.util.find_library(name) or fallback)
    except OSError:
        return False
    return True


def choose_gl(
    environment: MutableMapping[str, str] = os.environ, can_load: Callable[[str], bool] = loads
) -> str:
    """Respect the user's MUJOCO_GL, else set it to the first backend that loads."""
    chosen = environment.get(VARIABLE, "").lower()
    if chosen and chosen not in BACKENDS:
        raise BadInput(f"{VARIABLE}={chosen!r}; expected one of {', '.join(BACKENDS)}, or unset it")
    if chosen in LIBRARIES and not can_load(chosen):
        raise MissingDependency(
            f"{VARIABLE}={chosen} but {LIBRARIES[chosen][1]} does not load; "
            f"unset {VARIABLE} or install the library"
        )
    if not chosen:
        chosen = next((backend for backend in LIBRARIES if can_load(backend)), "")
    if not chosen:
        raise MissingDependency(
            "no GL library for drawing without a screen; install libosmesa6 "
            "(apt-get install libosmesa6) or an EGL driver"
        )
    environment[VARIABLE] = chosen
    return chosen
