"""Versions of all that can change a result."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from phaser import __version__

PACKAGES = (
    *("torch", "numpy", "metaworld", "mujoco", "hf-libero", "robosuite", "bddl"),
    *("accelerate", "pyarrow", "safetensors"),
)


def versions() -> dict[str, str]:
    """The version of each library, by its name; "not installed" where it is missing."""
    found = {"phaser": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
