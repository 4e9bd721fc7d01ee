"""Which GL library draws without a screen: chosen before mujoco is imported, tried in a child."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from collections.abc import Callable, MutableMapping

from phaser.core.errors import BadInput, MissingDependency
from phaser.suites.checks import in_child

VARIABLE = "MUJOCO_GL"
# OSMesa first: it draws the same pixels with and without a graphics card.
LIBRARIES = {"osmesa": ("OSMesa", "libOSMesa.so.8"), "egl": ("EGL", "libEGL.so.1")}
BACKENDS = ("osmesa", "egl", "glfw")
APT_PACKAGES = {"osmesa": "libosmesa6", "egl": "libegl1 libgl1-mesa-dri"}
PROBE_TIMEOUT_S = 180
_DRAW = "from phaser.suites.gl import draw; draw()"
_CUBE = """<mujoco><worldbody><light pos="0 0 3"/><geom type="box" size="1 1 1" rgba="1 0 0 1"/>
<camera name="eye" pos="0 0 5"/></worldbody></mujoco>"""


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


def probe(backend: str) -> tuple[bool, str]:
    """Whether a backend really draws, and what it said; a crash of the driver ends only a child."""
    if backend in LIBRARIES and not loads(backend):
        return False, f"{LIBRARIES[backend][1]} does not load"
    return in_child(_DRAW, timeout_s=PROBE_TIMEOUT_S, environment={VARIABLE: backend})


def draw() -> None:
    """A red cube; says how it was drawn. Run in a process."""
    from phaser.suites.mujoco_library import mujoco

    library = mujoco()
    model = library.MjModel.from_xml_string(_CUBE)
    data = library.MjData(model)
    library.mj_forward(model, data)
    with library.Renderer(model, 32, 32) as renderer:
        renderer.update_scene(data, camera="eye")
        image = renderer.render()
    if not image[16, 16, 0] > 2 * image[16, 16, 2]:
        sys.exit("it draws, but not what was asked for: the middle of a red cube is not red")
    print("draws")
