"""PHASER: phase-aware experience replay for robot policies that learn task after task.

The names below are what most programs need; each is imported when it is first asked for, so that
`import phaser` alone loads neither torch nor a simulator.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phaser.core.contract import Contract as Contract
    from phaser.core.demonstration import ActionLayout as ActionLayout
    from phaser.core.demonstration import Demo as Demo
    from phaser.core.demonstration import FrameRef as FrameRef
    from phaser.core.demonstration import Task as Task
    from phaser.core.errors import PhaserError as PhaserError
    from phaser.core.memory import Bucket as Bucket
    from phaser.core.memory import Memory as Memory
    from phaser.core.memory import PreparedTask as PreparedTask
    from phaser.core.policy import Observation as Observation
    from phaser.core.policy import Policy as Policy
    from phaser.core.ports import Draw as Draw
    from phaser.core.ports import Keep as Keep
    from phaser.core.ports import Probe as Probe
    from phaser.core.ports import Sampler as Sampler
    from phaser.core.ports import Segmenter as Segmenter
    from phaser.core.samples import Samples as Samples
    from phaser.core.segmentation import Phase as Phase
    from phaser.core.segmentation import Segmentation as Segmentation
    from phaser.core.streams import Stream as Stream
    from phaser.core.streams import Streams as Streams
    from phaser.core.suite import Env as Env
    from phaser.core.suite import Suite as Suite
    from phaser.memory.budget import Budget as Budget
    from phaser.memory.store import Store as Store
    from phaser.methods.method import Method as Method
    from phaser.methods.table import METHODS as METHODS
    from phaser.phases.autopc import AutoPC as AutoPC
    from phaser.policies.module_policy import ModulePolicy as ModulePolicy
    from phaser.replay.columns import Columns as Columns
    from phaser.replay.instructions import tasks_of as tasks_of
    from phaser.replay.loop_policy import LoopPolicy as LoopPolicy
    from phaser.replay.replay import Replay as Replay

__version__ = "0.1.0"

_PLACES = {
    "phaser.replay.replay": ("Replay",),
    "phaser.replay.columns": ("Columns",),
    "phaser.replay.instructions": ("tasks_of",),
    "phaser.replay.loop_policy": ("LoopPolicy",),
    "phaser.memory.budget": ("Budget",),
    "phaser.memory.store": ("Store",),
    "phaser.methods.method": ("Method",),
    "phaser.methods.table": ("METHODS",),
    "phaser.phases.autopc": ("AutoPC",),
    "phaser.policies.module_policy": ("ModulePolicy",),
    "phaser.core.contract": ("Contract",),
    "phaser.core.demonstration": ("ActionLayout", "Demo", "FrameRef", "Task"),
    "phaser.core.errors": ("PhaserError",),
    "phaser.core.memory": ("Bucket", "Memory", "PreparedTask"),
    "phaser.core.policy": ("Observation", "Policy"),
    "phaser.core.ports": ("Draw", "Keep", "Probe", "Sampler", "Segmenter"),
    "phaser.core.samples": ("Samples",),
    "phaser.core.segmentation": ("Phase", "Segmentation"),
    "phaser.core.streams": ("Stream", "Streams"),
    "phaser.core.suite": ("Env", "Suite"),
}
_PUBLIC = {name: module for module, names in _PLACES.items() for name in names}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'phaser' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
