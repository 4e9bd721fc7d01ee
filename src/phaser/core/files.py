"""Files that are never half-written, and never anything but plain files when they are read.

A file is written under a temporary name, synced, then renamed. Opening a pipe would wait for a
writer that never comes and a device may never end, so every reader asks `require_file` or reads
through `read_bytes` and `read_json`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from phaser.core.errors import BrokenFile, CannotWrite

WRITE_ERRORS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}
STAGES = ("made", "written", "synced", "renamed", "folder synced")
"""What happens to a file, in order. Up to "synced" the old file stands, from "renamed" the new."""
_ODD_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def reached(stage: str, path: Path) -> None:
    """Called at every stage of every write; does nothing. Fault tests put an end in its place."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a read-only folder or a full disk into one clear line."""
    try:
        yield
    except (PermissionError, OSError) as error:
        if error.errno not in WRITE_ERRORS:
            raise
        raise CannotWrite(
            f"cannot write {path}: {os.strerror(error.errno or 0)}; "
            "free space or choose another folder"
        ) from error


def require_writable(folder: Path) -> None:
    """Fail before hours of work, not after them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CannotWrite(
            f"cannot write into {folder}: {error.strerror}; free space or choose another folder"
        ) from error


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, sync it, then rename it over `path`."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        os.close(handle)
        temporary = Path(name)
        try:
            reached("made", path)
            write(temporary)
            reached("written", path)
            temporary.chmod(0o666 & ~_umask())
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
            reached("synced", path)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        reached("renamed", path)
        _sync_folder(path.parent)
        reached("folder synced", path)


def remove_unfinished(folder: Path) -> None:
    """Remove what writers that were killed left in a folder; only while nobody else writes."""
    with writing(folder):
        for temporary in folder.glob(".*.tmp"):
            temporary.unlink()


def write_bytes(path: Path, content: bytes) -> None:
    write_atomically(path, lambda temporary: _write_all(temporary, content))


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file."""
    return parsed_json(read_bytes(path), str(path))


def parsed_json(content: bytes | str, where: str) -> Any:
    """The value that a JSON text stands for.

    where: what the text is, for messages.
    """
    try:
        return json.loads(content)
    except RecursionError:
        # Without its cause, whose thousand frames say nothing.
        raise BrokenFile(f"{where} is nested too deeply; delete or restore it") from None
    except ValueError as error:
        raise BrokenFile(f"{where} is not valid JSON ({error}); delete or restore it") from error


def read_bytes(path: Path) -> bytes:
    """All bytes of a plain file."""
    with open_file(path) as stream:
        return stream.read()


def open_file(path: Path) -> BinaryIO:
    """A plain file for reading; what else has that name is refused, and never waited for."""
    try:
        # Opening a pipe would wait for its writer; the flag does nothing to a plain file.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        _refuse_odd(path, os.fstat(handle))
    except BrokenFile:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def require_file(path: Path) -> os.stat_result:
    """Refuse what is no plain file, for libraries that open a file by its name."""
    try:
        found = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    _refuse_odd(path, found)
    return found


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open_file(path) as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _refuse_odd(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _ODD_KINDS.get(stat.S_IFMT(found.st_mode), "no plain file")
        raise BrokenFile(f"{path} is {kind}; expected a plain file: restore it, or name another")


def _unreadable(path: Path, error: OSError) -> BrokenFile:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return BrokenFile(f"{path} does not exist; restore it, or name another")
    if error.errno == errno.ENXIO:
        return BrokenFile(f"{path} is a socket; expected a plain file: restore it, or name another")
    return BrokenFile(f"{path} cannot be read: {error.strerror}; change its rights or restore it")


def _write_all(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _umask() -> int:
    """What the user lets others do; mkstemp alone would make every file private."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
