"""Leases: one holder at a time, also where processes on several machines share a disk.

The kernel's locks hold on one machine; on shared disks some hold, some do not, and the lock of a
machine that is gone may never be freed. So the holder of a lease writes who it is into a file and
touches that file every few seconds. A file that nobody touched for a while, or whose process is
known to be gone, is taken over. Ages are measured by the clock of the disk alone, so machines may
disagree about the time.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from phaser.core.files import writing
from phaser.core.locks import POLL_S, InUse, exclusive

BEAT_S = 2.0
"""Between two signs of life."""
LEASE_S = 30.0
"""A holder that gave no sign of life for so long counts as gone."""


class Lease:
    """A lease that is held: it gives signs of life until it is closed."""

    def __init__(self, path: Path, token: str, what: str, beat_s: float) -> None:
        self._path, self._token, self._what, self._beat_s = path, token, what, beat_s
        self._lost, self._closing = False, threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)
        self._thread.start()

    def require(self) -> None:
        """Raise InUse where another process has taken over, as after a long sleep of this one."""
        if self._lost:
            raise InUse(
                f"{self._what} {self._path.parent} was taken over by another process, as this one "
                "gave no sign of life; leave the work to it"
            )

    def close(self) -> None:
        """Give the lease back."""
        self._closing.set()
        self._thread.join()
        if _token_in(self._path) == self._token:
            self._path.unlink(missing_ok=True)

    def _beat(self) -> None:
        while not self._closing.wait(self._beat_s):
            try:
                if _token_in(self._path) != self._token:
                    self._lost = True
                    return
                os.utime(self._path)
            except OSError:
                # A shared disk may be away for a moment; the next sign of life tells.
                continue


@contextmanager
def leased(
    path: Path,
    *,
    what: str,
    wait_s: float = 0.0,
    waiting: Callable[[str], None] | None = None,
    beat_s: float = BEAT_S,
    lease_s: float = LEASE_S,
) -> Iterator[Lease]:
    """Hold the lease file `path`, or raise InUse; `what` names the guarded thing.

    wait_s: how long to wait for another holder.
    waiting: told in one line when it comes to waiting.
    """
    token = uuid.uuid4().hex
    until, told = time.monotonic() + wait_s, False
    while not _taken(path, token):
        held = _read(path)
        if held is None or not _is_alive(path, held, lease_s):
            _remove(path, held)
            continue
        owner = f"process {held.get('pid', '?')} on {held.get('host', 'another machine')}"
        if time.monotonic() >= until:
            raise InUse(f"{what} {path.parent} is in use by {owner}; wait until it ends, or end it")
        if not told and waiting is not None:
            waiting(f"{what} {path.parent} is in use by {owner}; waiting")
        told = True
        time.sleep(POLL_S)
    lease = Lease(path, token, what, beat_s)
    try:
        yield lease
    finally:
        lease.close()


@contextmanager
def alone(folder: Path, name: str, *, what: str) -> Iterator[None]:
    """Wait until no other process, here or on another machine, works on that; then be the one."""
    forever = float("inf")
    with ExitStack() as stack:
        stack.enter_context(exclusive(folder / f".{name}.lock", what=what, wait_s=forever))
        stack.enter_context(leased(folder / f".{name}.lease", what=what, wait_s=forever))
        yield


def _taken(path: Path, token: str) -> bool:
    """True if the file did not exist and now is ours; of several that try, one succeeds."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            return False
        with os.fdopen(handle, "w") as stream:
            json.dump({**_identity(), "token": token}, stream)
    return True


def _identity() -> dict[str, Any]:
    """Who this process is, for processes that can look at it and for those that cannot."""
    return {
        "host": socket.gethostname(),
        "machine": _text("/proc/sys/kernel/random/boot_id"),
        "namespace": _link("/proc/self/ns/pid"),
        "pid": os.getpid(),
        "started": _started(os.getpid()),
    }


def _is_alive(path: Path, held: dict[str, Any], lease_s: float) -> bool:
    """Whether the holder lives: looked up on the same machine, else judged by its last sign."""
    ours = _identity()
    same = all(ours[name] and ours[name] == held.get(name) for name in ("machine", "namespace"))
    if same and isinstance(held.get("pid"), int):
        started = _started(held["pid"])
        return started is not None and started == held.get("started")
    return _age_s(path) < lease_s


def _age_s(path: Path) -> float:
    """How long ago the file was touched, by the clock of its disk."""
    probe = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with writing(path):
            probe.touch()
        return probe.stat().st_mtime - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0  # given back a moment ago
    finally:
        probe.unlink(missing_ok=True)


def _remove(path: Path, held: dict[str, Any] | None) -> None:
    """Remove the file of a holder that is gone, and nobody else's.

    It is renamed first: of several that try, one succeeds. Who finds that it caught the file of a
    new holder instead puts it back.
    """
    if held is None:
        return
    caught = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        path.rename(caught)
    except FileNotFoundError:
        return
    if _token_in(caught) != held.get("token"):
        with suppress(FileExistsError, OSError):
            os.link(caught, path)
    caught.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any] | None:
    """Who holds the file; nothing if it is gone, an unknown holder if it cannot be read yet."""
    try:
        content = path.read_text()
    except FileNotFoundError:
        return None
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _token_in(path: Path) -> str | None:
    found = _read(path)
    return None if found is None else found.get("token")


def _started(pid: int) -> str | None:
    """When a process began, in the kernel's ticks; None if there is none of that number."""
    content = _text(f"/proc/{pid}/stat")
    # The name in brackets may hold anything; the start is the twentieth field after it.
    return content.rpartition(")")[2].split()[19] if content else None


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None
