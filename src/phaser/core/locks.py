"""One writer at a time. The kernel frees a lock when its process dies, so none can go stale."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from phaser.core.errors import PhaserError
from phaser.core.files import writing

POLL_S = 0.05
"""Between two tries to take a lock that another process holds."""
SHOWN_BYTES = 200
"""How much of a lock file a message repeats; whoever wrote it, the line stays a line."""


class InUse(PhaserError):
    """Another process works in this folder."""


@contextmanager
def exclusive(
    path: Path,
    *,
    what: str,
    wait_s: float = 0.0,
    waiting: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Hold the lock file `path`, or raise InUse; `what` names the guarded thing.

    The file is there while the lock is held; one that a killed process left behind is taken over.

    wait_s: how long to wait for another process that holds it.
    waiting: told in one line when it comes to waiting.
    """
    handle = _held_in_time(path, what, wait_s, waiting)
    try:
        # For whoever is refused; the lock itself is in the kernel, not in these words.
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        # Removed while held: whoever opened it before sees below that it is gone, and tries again.
        path.unlink(missing_ok=True)
        os.close(handle)


class Shared:
    """A lock that any number of processes share; it ends with this object, or with its process."""

    __slots__ = ("_handle",)

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        with writing(path):
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._handle = os.open(path, flags, 0o666)
            fcntl.flock(self._handle, fcntl.LOCK_SH)

    def close(self) -> None:
        """Give the lock back; a second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        self.close()


@contextmanager
def unshared(path: Path) -> Iterator[bool]:
    """Whether nobody shares this lock; as long as that is so, nobody can begin to."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = True
    except BlockingIOError:
        alone = False
    try:
        yield alone
    finally:
        os.close(handle)


def _held_in_time(
    path: Path, what: str, wait_s: float, waiting: Callable[[str], None] | None
) -> int:
    until, told = time.monotonic() + wait_s, False
    while True:
        try:
            return _held(path, what)
        except InUse as error:
            if time.monotonic() >= until:
                raise
            if not told and waiting is not None:
                waiting(f"{str(error).partition(';')[0]}; waiting for up to {wait_s:g} s")
            told = True
            time.sleep(POLL_S)


def _held(path: Path, what: str) -> int:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.pread(handle, SHOWN_BYTES, 0).decode(errors="replace")
                os.close(handle)
                raise InUse(_refusal(path, what, owner)) from None
            if _is_at(handle, path):
                return handle
            os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    """Whether the file that was opened is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _refusal(path: Path, what: str, owner: str) -> str:
    who = " ".join(owner.split()) or "another process"
    return f"{what} {path.parent} is in use by {who}; wait until it ends, or end it"
