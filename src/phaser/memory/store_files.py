"""The files of a memory folder: what belongs to it, what a killed process left, what is whole."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import writing
from phaser.core.locks import exclusive, unshared
from phaser.memory.index_segments import INDEX, SEGMENT_NAME
from phaser.memory.manifest import MANIFEST, Manifest
from phaser.memory.stored_task import SHARD_NAME, StoredTask
from phaser.memory.tensor_file import open_regular

TASKS, STATE = "tasks", "state"
FOLDERS = (TASKS, INDEX, STATE)
LOCK, READING = ".lock", ".reading"
"""Held by the one who writes, and shared by tasks that rehearse: files that give way to new tasks
stay as long as somebody may draw from them."""
STREAM = "lerobot"
"""Where `phaser lerobot-train` keeps statistics and losses, with the memory they belong to."""
CERTIFICATE_V1 = "budget.json"
"""Version 1 wrote the certificate beside the manifest; now it is computed from it."""
_BLOCK = 1 << 20
WAIT_S = 600.0
"""How long a writer waits for another one to finish."""


def alone(path: Path, waiting: Callable[[str], None] | None = None) -> AbstractContextManager[None]:
    """The right to write to a memory; `waiting` is told in one line if it has to be waited for."""
    return exclusive(path / LOCK, what="the memory", wait_s=WAIT_S, waiting=waiting)


_SLUG_LENGTH = 40
_TEMPORARY = re.compile(r"\..+\.tmp")
_STATE_NAME = re.compile(r"[0-9a-f]{12}\.safetensors")
_NAMES = {TASKS: SHARD_NAME, INDEX: SEGMENT_NAME, STATE: _STATE_NAME}


def new_stem(manifest: Manifest, task: str) -> str:
    """The start of a shard's name: its number, and the task's name as far as a file can bear it."""
    slug = re.sub("[^a-z0-9]+", "-", task.lower())[:_SLUG_LENGTH].strip("-")
    return f"{manifest.next_number:03d}-{slug}"


def check_shard_file(folder: Path, task: StoredTask, *, whole: bool = False) -> None:
    """A plain file of the declared size, in a plain folder; `whole` compares its hash as well."""
    check_file(folder / TASKS / task.shard, task.num_bytes, task.sha256 if whole else None)


def check_file(path: Path, num_bytes: int, sha256: str | None) -> None:
    """Refuse a file that is not plain, not of this size or, where it is given, of this hash."""
    with os.fdopen(open_regular(path), "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size != num_bytes:
            raise BrokenFile(
                f"{path} has {size} bytes, the manifest declares {num_bytes}; restore it"
            )
        if sha256 is None:
            return
        digest = hashlib.sha256()
        while block := stream.read(_BLOCK):
            digest.update(block)
    if digest.hexdigest() != sha256:
        raise BrokenFile(f"{path} was changed after it was written; restore it")


def check_own_folders(folder: Path) -> None:
    """Refuse a link in the place of a folder: it would lead reading and removal away."""
    for name in FOLDERS:
        if (folder / name).is_symlink():
            raise BrokenFile(f"{folder / name} is a link; a memory holds its own files")


def check_empty(folder: Path) -> None:
    """Refuse a folder that holds a memory, parts of one, or anything else that is not ours."""
    if os.path.lexists(folder / MANIFEST):
        raise BadInput(f"{folder} already holds a memory; open it, or choose another folder")
    check_own_folders(folder)
    found = [path for name in (TASKS, INDEX, STATE) for path in _named(folder / name, _NAMES[name])]
    if found:
        shards = [path.name for path in found if path.parent.name == TASKS]
        shown = ", ".join(shards[:3]) + (", …" if len(shards) > 3 else "")
        raise BadInput(
            f"{folder} has no {MANIFEST}, but {len(shards)} shards of stored tasks ({shown}): a "
            "copy that was cut off? Restore the manifest, or rebuild it from the shards: "
            f"phaser memory repair {folder}"
        )
    ours = {*FOLDERS, CERTIFICATE_V1, LOCK, READING, STREAM}
    for entry in sorted(folder.iterdir()):
        if entry.name not in ours and not _TEMPORARY.fullmatch(entry.name):
            raise BadInput(
                f"{folder} holds {entry.name!r}, which is no part of a memory; "
                "choose a new or empty folder"
            )


def leftovers(folder: Path, manifest: Manifest) -> list[Path]:
    """Files of a memory that its manifest does not name: a killed writer left them."""
    check_own_folders(folder)
    named = {f"{TASKS}/{task.shard}" for task in manifest.tasks}
    named |= {f"{INDEX}/{one.file}" for one in manifest.segments}
    if manifest.state is not None:
        named.add(manifest.state.file)
    ours = [
        path
        for name in FOLDERS
        for path in _named(folder / name, _NAMES[name])
        if f"{name}/{path.name}" not in named
    ]
    return [*temporaries(folder), *ours]


def temporaries(folder: Path) -> list[Path]:
    """Files on their way that no process will finish, if nobody writes now."""
    places = [folder, *(folder / name for name in FOLDERS)]
    return [path for place in places for path in _named(place, _TEMPORARY, start=".")]


def clear(folder: Path, manifest: Manifest) -> None:
    """Remove what the manifest says is gone, and files on their way of a writer that was killed.

    Only while nobody else writes. Shards that no manifest names are left alone: a manifest from a
    backup may be older than they are.
    """
    for path in temporaries(folder):
        erase(path)
    clear_removed(folder, manifest)


def clear_removed(folder: Path, manifest: Manifest) -> None:
    """Remove what the manifest says is gone: at once what was forgotten, and what only gave way
    when no task rehearses from it any more."""
    for one in manifest.removed:
        if one.erase and os.path.lexists(folder / one.file):
            erase(folder / one.file)
    with unshared(folder / READING) as nobody_reads:
        for one in manifest.removed if nobody_reads else ():
            path = folder / one.file
            with writing(path):
                path.unlink(missing_ok=True)


def erase(path: Path) -> None:
    """Write zeros over a file, sync them, and only then remove its name."""
    with writing(path):
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "wb") as stream:
            left = os.fstat(handle).st_size
            while left > 0:
                left -= stream.write(bytes(min(left, _BLOCK)))
            stream.flush()
            os.fsync(handle)
        path.unlink()


def _named(place: Path, pattern: re.Pattern[str], *, start: str = "") -> list[Path]:
    """Plain files of a folder whose names have this form, and begin so."""
    try:
        names = os.listdir(place)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [name for name in names if name.startswith(start) and pattern.fullmatch(name)]
    paths = [place / name for name in sorted(found)]
    return [path for path in paths if stat.S_ISREG(path.lstat().st_mode)]


def named_files(manifest: Manifest) -> list[str]:
    """Every file that belongs to this state of a memory, relative to its folder."""
    return [
        MANIFEST,
        *(f"{INDEX}/{one.file}" for one in manifest.segments),
        *([manifest.state.file] if manifest.state else []),
        *(f"{TASKS}/{task.shard}" for task in manifest.tasks),
    ]
