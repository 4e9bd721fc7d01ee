"""The one door to PyAV, which an extra brings."""

from __future__ import annotations

from types import ModuleType

from phaser.core.errors import MissingDependency


def video_library(what: str) -> ModuleType:
    """PyAV, or one line that says how to install it for what needs it."""
    try:
        import av
    except ImportError as error:
        raise MissingDependency(
            f"{what} needs PyAV; run: pip install 'phaser-vla[video]'"
        ) from error
    module: ModuleType = av
    return module
