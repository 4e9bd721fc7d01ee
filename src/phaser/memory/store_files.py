"""The files of a memory folder: what belongs to it, what a killed process left, what is whole."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import write_text, writing
from phaser.memory.certificate import certificate
from phaser.memory.manifest import MANIFEST, SHARD_NAME, Manifest, StoredTask
from phaser.memory.tensor_file import open_regular

BUDGET = "budget.json"
TASKS = "tasks"
_BLOCK = 1 << 20
_SLUG_LENGTH = 40
_TEMPORARY = re.compile(r"\..+\.tmp")


def new_stem(manifest: Manifest, task: str) -> str:
    """The start of a shard's name: its number, and the task's name as far as a file can bear it."""
    numbers = [int(task.shard.partition("-")[0]) for task in manifest.tasks]
    slug = re.sub("[^a-z0-9]+", "-", task.lower())[:_SLUG_LENGTH].strip("-")
    return f"{max(numbers, default=-1) + 1:03d}-{slug}"


def write_budget(folder: Path, manifest: Manifest) -> None:
    write_text(folder / BUDGET, _budget_text(certificate(manifest.rows())))


def check_budget_file(folder: Path, manifest: Manifest) -> None:
    """A certificate that no byte was changed in, and that counts what the manifest counts.

    Words and sums may be those of the version that wrote it; the counts of the phases may not.
    """
    raw = _content(folder / BUDGET)
    try:
        fields = json.loads(raw)
        del fields["checksum"]
        whole = _budget_text(fields).encode() == raw
        same = fields["frames_per_phase"] == manifest.rows()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        whole = same = False
    if not whole or not same:
        raise BrokenFile(
            f"{folder / BUDGET} was changed, or does not say what the manifest says; "
            "opening the memory for writing makes it anew"
        )


def _budget_text(fields: Mapping[str, Any]) -> str:
    """One form only: a line per phase, keys in order, its own hash inside."""
    rows = ",\n".join(json.dumps(row, sort_keys=True) for row in fields["frames_per_phase"])
    lines = {key: json.dumps(fields[key], sort_keys=True) for key in fields}
    lines |= {"frames_per_phase": f"[\n{rows}\n]"}

    def text(checksum: str) -> str:
        marked = {**lines, "checksum": json.dumps(checksum)}
        return "{\n" + ",\n".join(f'"{key}": {marked[key]}' for key in sorted(marked)) + "\n}\n"

    return text(hashlib.sha256(text("").encode()).hexdigest())


def check_shard_file(folder: Path, task: StoredTask, *, whole: bool = False) -> None:
    """A plain file of the declared size, in a plain folder; `whole` compares its hash as well."""
    path = folder / TASKS / task.shard
    handle = open_regular(path)
    with os.fdopen(handle, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size != task.num_bytes:
            raise BrokenFile(
                f"{path} has {size} bytes, the manifest declares {task.num_bytes}; restore it"
            )
        if not whole:
            return
        digest = hashlib.sha256()
        while block := stream.read(_BLOCK):
            digest.update(block)
    if digest.hexdigest() != task.sha256:
        raise BrokenFile(f"{path} was changed after it was written; restore it")


def check_own_folder(folder: Path) -> None:
    """Refuse a link in the place of the shards' folder: it would lead reading and removal away."""
    if (folder / TASKS).is_symlink():
        raise BrokenFile(f"{folder / TASKS} is a link; a memory holds its own files")


def check_empty(folder: Path) -> None:
    """Refuse a folder that holds a memory, or anything else that is not ours."""
    if os.path.lexists(folder / MANIFEST):
        raise BadInput(f"{folder} already holds a memory; open it, or choose another folder")
    ours = {TASKS, BUDGET, ".lock"}
    for found in sorted(folder.iterdir()):
        if found.name not in ours and not _TEMPORARY.fullmatch(found.name):
            raise BadInput(
                f"{folder} holds {found.name!r}, which is no part of a memory; "
                "choose a new or empty folder"
            )


def leftovers(folder: Path, manifest: Manifest) -> list[Path]:
    """Files that a killed writer left: temporaries, and shards that the manifest does not name."""
    check_own_folder(folder)
    named = {task.shard for task in manifest.tasks}
    places = [(folder, _TEMPORARY), (folder / TASKS, _TEMPORARY), (folder / TASKS, SHARD_NAME)]
    return [
        found
        for place, pattern in places
        for found in (sorted(place.iterdir()) if place.is_dir() else ())
        if pattern.fullmatch(found.name)
        and found.name not in named
        and stat.S_ISREG(found.lstat().st_mode)
    ]


def mend(folder: Path, manifest: Manifest) -> None:
    """Clear what a killed writer left, and make the certificate say what the manifest says."""
    for found in leftovers(folder, manifest):
        overwrite(found)
    try:
        check_budget_file(folder, manifest)
    except BrokenFile:
        write_budget(folder, manifest)


def overwrite(path: Path) -> None:
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


def _content(path: Path) -> bytes:
    with os.fdopen(open_regular(path), "rb") as stream:
        return stream.read()
