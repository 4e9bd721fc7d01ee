"""Files that are never half-written: a temporary name, synced, then renamed."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from phaser.core.errors import BrokenFile, CannotWrite

WRITE_ERRORS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}
STAGES = ("made", "written", "synced", "renamed", "folder synced")
"""What happens to a file, in order. Up to "synced" the old file stands, from "renamed" the new."""


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
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise BrokenFile(f"{path} does not exist") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BrokenFile(f"{path} is not valid JSON ({error}); delete or restore it") from error


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


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
