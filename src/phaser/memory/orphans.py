"""Shards that no manifest names, because their writer was killed before its commit."""

from __future__ import annotations

import json
from pathlib import Path

from phaser.core.errors import BrokenFile
from phaser.memory.manifest import Manifest, Removal
from phaser.memory.store_files import TASKS, leftovers
from phaser.memory.tensor_file import open_tensor_file


def orphans_of(folder: Path, manifest: Manifest, task: str) -> list[Removal]:
    """Such shards of one task, to be erased: a task that is forgotten leaves its frames nowhere."""
    found = [path for path in leftovers(folder, manifest) if path.parent.name == TASKS]
    return [
        Removal(file=f"{TASKS}/{path.name}", erase=True)
        for path in found
        if not path.name.startswith(".") and _task_of(path) == task
    ]


def _task_of(path: Path) -> str | None:
    """The task that a shard says it holds; None where it cannot be read."""
    try:
        file = open_tensor_file(path, num_bytes=path.stat().st_size)
        found = json.loads(file.text["phaser"])["task"]
    except (BrokenFile, OSError, KeyError, ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found, str) else None
