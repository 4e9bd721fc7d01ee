"""PHASER: phase-aware experience replay for robot policies that learn task after task."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phaser.replay.columns import Columns
    from phaser.replay.replay import Replay

__version__ = "0.1.0"
__all__ = ["Columns", "Replay", "__version__"]

_PUBLIC = {"Columns": "phaser.replay.columns", "Replay": "phaser.replay.replay"}


def __getattr__(name: str) -> Any:
    """Found when asked for: `import phaser` alone, and the command line's help, load no torch."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'phaser' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)
