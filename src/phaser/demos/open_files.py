"""The most recently used open files of this process, so that random reads do not reopen them.

Handles never cross a fork: a child forgets those of its parent without closing them (a decoder's
threads and a library's locks do not exist in the child) and opens its own.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Protocol, TypeVar, runtime_checkable

from phaser.core.files import require_file


@runtime_checkable
class Closable(Protocol):
    """Whatever holds a file open."""

    def close(self) -> None: ...


Handle = TypeVar("Handle", bound=Closable)
_Version = tuple[int, int, int]


class OpenFiles(Generic[Handle]):
    """At most `limit` open files; the one that was not used for longest is closed first."""

    def __init__(self, opener: Callable[[Path], Handle], *, limit: int) -> None:
        self._opener = opener
        self._limit = limit
        self._inherited: list[object] = []
        self._forget()
        os.register_at_fork(after_in_child=self._forget_parent)

    def __len__(self) -> int:
        return len(self._handles)

    @contextmanager
    def borrowed(self, path: Path) -> Iterator[Handle]:
        """The handle of a file; threads take turns, and one that failed is not used again."""
        with self._lock:
            handle = self._current(path)
            try:
                yield handle
            except BaseException:
                self._close(path)
                raise

    def close_all(self) -> None:
        with self._lock:
            for path in list(self._handles):
                self._close(path)

    def _current(self, path: Path) -> Handle:
        version = _version(path)
        if path in self._handles and self._handles[path][0] != version:
            self._close(path)
        if path not in self._handles:
            while len(self._handles) >= self._limit:
                self._close(next(iter(self._handles)))
            self._handles[path] = (version, self._opener(path))
        self._handles.move_to_end(path)
        return self._handles[path][1]

    def _close(self, path: Path) -> None:
        found = self._handles.pop(path, None)
        if found is not None:
            found[1].close()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._handles: OrderedDict[Path, tuple[_Version, Handle]] = OrderedDict()

    def _forget_parent(self) -> None:
        # Kept referenced: a destructor would close them, and wait for threads that are not here.
        self._inherited.append(self._handles)
        self._forget()


def _version(path: Path) -> _Version:
    """What changes when a file is replaced or rewritten under an open handle."""
    found = require_file(path)
    return found.st_ino, found.st_size, found.st_mtime_ns
