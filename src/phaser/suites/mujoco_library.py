"""The one place that imports MuJoCo, late and with its known noise silenced."""

from __future__ import annotations

import warnings
from functools import cache
from types import ModuleType

from phaser.core.errors import MissingDependency
from phaser.suites.gl import choose_gl

INSTALL = "install a simulator's extra: pip install 'phaser-vla[metaworld]'"


@cache
def mujoco() -> ModuleType:
    """MuJoCo, after a GL backend was chosen for it."""
    choose_gl()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            import mujoco as library
    except ImportError as error:
        raise MissingDependency(f"mujoco does not import ({error}); {INSTALL}") from error
    return library
