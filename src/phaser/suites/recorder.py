"""Record what is missing, reuse what is there; two processes never record the same task."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from phaser.core.demonstration import Task
from phaser.core.leases import alone
from phaser.core.suite import SPLITS
from phaser.demos.lerobot_layout import read_sidecar


class Recordable(Protocol):
    """How the demonstrations of a suite are recorded: settings that know how to do it."""

    def num_demos(self, split: str) -> int: ...

    def folder(self, cache: Path, task: Task, split: str) -> Path:
        """Other settings get another folder, so that recordings never overwrite each other."""
        ...

    def expected(self, task: Task, split: str) -> dict[str, Any]:
        """What a recording says about itself if it is the one that would be made now."""
        ...

    def record(self, folder: Path, task: Task, split: str, each: Callable[[], None]) -> None: ...


def is_current(folder: Path, task: Task, split: str, recording: Recordable) -> bool:
    """Whether a recording of exactly these settings, drawn as this machine draws, exists."""
    if not folder.exists():
        return False
    sidecar = read_sidecar(folder)
    expected = recording.expected(task, split)
    return sidecar is not None and expected.items() <= dict(sidecar.recording).items()


def missing_recordings(tasks: Iterable[Task], folder_of: Callable[[Task, str], Path]) -> list[Task]:
    """The tasks of which a split is not recorded, in their order."""
    return [task for task in tasks if not all(folder_of(task, split).exists() for split in SPLITS)]


def ensure_recorded(
    cache: Path, task: Task, recording: Recordable, each: Callable[[], None] = lambda: None
) -> None:
    """Record the splits of a task that do not exist or show other pixels than this machine draws.

    Whoever comes while another process records the task waits, and then finds the recording.
    `each` is called whenever a demonstration is recorded.
    """
    folders = {split: recording.folder(cache, task, split) for split in SPLITS}
    if all(is_current(folder, task, split, recording) for split, folder in folders.items()):
        return
    with alone(folders["train"].parent.parent, task.name, what="recording"):
        for split, folder in folders.items():
            if not is_current(folder, task, split, recording):
                recording.record(folder, task, split, each)
