"""Record what is missing, reuse what is there; two processes never record the same task."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from phaser.core.demonstration import Task
from phaser.core.files import writing
from phaser.demos.lerobot_layout import read_sidecar
from phaser.suites.frame_hash import reference_hash
from phaser.suites.recording import SPLITS, Recording, record


def is_current(folder: Path, task: Task, split: str, recording: Recording) -> bool:
    """Whether a recording of exactly these settings, drawn as this machine draws, exists."""
    if not folder.exists():
        return False
    expected = recording.fingerprint(task, split) | {"frame_sha256": reference_hash()}
    sidecar = read_sidecar(folder)
    return sidecar is not None and dict(sidecar.recording) == expected


def ensure_recorded(
    cache: Path, task: Task, recording: Recording, each: Callable[[], None] = lambda: None
) -> None:
    """Record the splits of a task that do not exist or show other pixels than this machine draws.

    Whoever comes while another process records the task waits, and then finds the recording.
    `each` is called whenever a demonstration is recorded.
    """
    folders = {split: recording.folder(cache, task, split) for split in SPLITS}
    if all(is_current(folder, task, split, recording) for split, folder in folders.items()):
        return
    with _alone(cache, task):
        for split, folder in folders.items():
            if not is_current(folder, task, split, recording):
                record(folder, task, split, recording, each)


@contextmanager
def _alone(cache: Path, task: Task) -> Iterator[None]:
    path = cache / "recordings" / "metaworld" / f".{task.name}.lock"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("w")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
