"""Record what is missing, several tasks at a time, and reuse what is there."""

from __future__ import annotations

import fcntl
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from phaser.core.demonstration import Task
from phaser.core.files import writing
from phaser.demos.lerobot_layout import read_sidecar
from phaser.suites.frame_hash import reference_hash
from phaser.suites.recording import SPLITS, Recording, record

Progress = Callable[[int, int, str], None]
"""Called with recordings done, recordings in all, and the task of the last one."""

Job = tuple[Path, Task, str, Recording]


def missing(cache: Path, tasks: Sequence[Task], recording: Recording) -> list[Job]:
    """Recordings that do not exist, or show other pixels than this machine draws."""
    jobs = [
        (recording.folder(cache, task, split), task, split, recording)
        for task in tasks
        for split in SPLITS
    ]
    return [job for job in jobs if not is_current(*job)]


def is_current(folder: Path, task: Task, split: str, recording: Recording) -> bool:
    """Whether a recording of exactly these settings, drawn as this machine draws, exists."""
    if not folder.exists():
        return False
    expected = recording.fingerprint(task, split) | {"frame_sha256": reference_hash()}
    sidecar = read_sidecar(folder)
    return sidecar is not None and dict(sidecar.recording) == expected


def ensure_recorded(
    cache: Path,
    tasks: Sequence[Task],
    recording: Recording,
    *,
    num_workers: int = 2,
    progress: Progress = lambda done, total, task: None,
) -> None:
    """Record all that is missing; one recording is done in this process, more in workers."""
    if not missing(cache, tasks, recording):
        return
    with _alone(cache):
        # Asked again: whoever held the lock may have recorded the same.
        jobs = missing(cache, tasks, recording)
        if len(jobs) <= 1 or num_workers <= 1:
            for done, job in enumerate(jobs):
                record(*job)
                progress(done + 1, len(jobs), job[1].name)
        else:
            _record_in_workers(jobs, num_workers, progress)


def _record_in_workers(jobs: Sequence[Job], num_workers: int, progress: Progress) -> None:
    # Fresh processes: a GL context does not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(num_workers, len(jobs)), mp_context=context) as pool:
        running = {pool.submit(record, *job): job[1].name for job in jobs}
        try:
            for done, finished in enumerate(as_completed(running)):
                finished.result()
                progress(done + 1, len(jobs), running[finished])
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """One recorder per cache at a time; the others wait and then find the recordings."""
    path = cache / "recordings" / ".lock"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("w")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
