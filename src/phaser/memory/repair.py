"""Rebuild the manifest of a memory from its shards, where the manifest is missing or damaged."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.locks import exclusive
from phaser.memory.commit import committed
from phaser.memory.index_segments import is_full, seal
from phaser.memory.manifest import MANIFEST, Manifest, read_manifest
from phaser.memory.shard import Shard
from phaser.memory.store_files import TASKS, check_own_folders
from phaser.memory.stored_task import SHARD_NAME, StoredTask, stored_task
from phaser.memory.tensor_file import open_regular, open_tensor_file


@dataclass(frozen=True, kw_only=True, slots=True)
class Repaired:
    """What a repair found."""

    tasks: tuple[StoredTask, ...]
    """The tasks of the new manifest, in the order of their shards' numbers."""
    refused: dict[str, str]
    """Shards that do not verify, or hold a task that a later shard holds too, with the reason."""
    remarks: tuple[str, ...] = ()
    """What could not be known, such as the instruction of a task in an old shard."""


def repair(folder: Path) -> Repaired:
    """Write a manifest that names every shard which verifies; no shard is touched.

    A folder whose manifest is whole is refused: there is nothing to repair.
    """
    if not (folder / TASKS).is_dir():
        raise BadInput(f"{folder} has no folder {TASKS!r}: there are no shards to rebuild from")
    with exclusive(folder / ".lock", what="the memory"):
        check_own_folders(folder)
        _require_broken(folder)
        found, refused, remarks = _verified(folder)
        tasks = _newest(found, refused)
        if not tasks:
            raise BadInput(f"no shard in {folder / TASKS} verifies; restore the memory")
        manifest = Manifest(
            folder=folder,
            about={"repaired": True},
            next_number=max(_number(task.shard) for task in tasks) + 1,
        )
        _write(manifest, tasks)
    return Repaired(tasks=tuple(tasks), refused=refused, remarks=tuple(remarks))


def _require_broken(folder: Path) -> None:
    if not os.path.lexists(folder / MANIFEST):
        return
    try:
        _ = read_manifest(folder).tasks
    except BrokenFile:
        # Set aside, not overwritten: somebody may still want to read it.
        os.replace(folder / MANIFEST, folder / f".{MANIFEST}.broken.tmp")
        return
    raise BadInput(f"{folder / MANIFEST} is whole; there is nothing to repair")


def _verified(folder: Path) -> tuple[list[StoredTask], dict[str, str], list[str]]:
    found: list[StoredTask] = []
    refused: dict[str, str] = {}
    remarks: list[str] = []
    for path in sorted((folder / TASKS).iterdir()):
        if not SHARD_NAME.fullmatch(path.name):
            continue
        try:
            task, remark = _task_of(path)
        except BadInput as error:
            refused[path.name] = str(error)
            continue
        found.append(task)
        remarks += [remark] if remark else []
    return found, refused, remarks


def _task_of(path: Path) -> tuple[StoredTask, str]:
    """The entry of a shard whose bytes have the hash in its name, from what it says of itself."""
    digest = hashlib.sha256()
    with os.fdopen(open_regular(path), "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        while block := stream.read(1 << 20):
            digest.update(block)
    sha256 = digest.hexdigest()
    if sha256[:12] != path.name[-24:-12]:
        raise BrokenFile(f"{path} was changed after it was written")
    file = open_tensor_file(path, num_bytes=size)
    try:
        description = json.loads(file.text["phaser"])
        entry, remark = _entry(description, file.arrays)
        entry = {"added": _written_at(path), **entry}
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise BrokenFile(f"{path} does not describe its task ({error})") from error
    task = stored_task({**entry, "shard": path.name, "num_bytes": size, "sha256": sha256})
    Shard.open(path, task)
    return task, remark


def _entry(description: Any, arrays: Any) -> tuple[dict[str, Any], str]:
    name = description["task"]
    entry = {"name": name, "codec": description["codec"], "num_frames": len(arrays["frame"])}
    if "entry" in description:
        return {**entry, **description["entry"]}, ""
    indices, counts = np.unique(arrays["phase"], return_counts=True)
    phases = [
        {"index": int(index), "label": f"phase {index}", "frames": int(count)}
        for index, count in zip(indices, counts, strict=True)
    ]
    remark = f"{name}: an old shard, which does not tell its instruction and the names of phases"
    more = {"instruction": "", "source": {"repaired": "yes"}, "phases": phases}
    return {**entry, **more}, remark


def _written_at(path: Path) -> str:
    """The time of the file, which a copy may have changed: a shard does not tell its own."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")


def _newest(found: list[StoredTask], refused: dict[str, str]) -> list[StoredTask]:
    """One shard per task: the one that was written last, since eviction and forgetting leave fewer
    frames; the manifest would have named that one."""
    by_name: dict[str, StoredTask] = {}
    for task in found:
        other = by_name.get(task.name)
        if other is None or task.num_frames <= other.num_frames:
            by_name[task.name] = task
            older = other
        else:
            older = task
        if older is not None:
            refused[older.shard] = f"a smaller shard of task {task.name!r} is there too"
    return sorted(by_name.values(), key=lambda task: _number(task.shard))


def _write(manifest: Manifest, tasks: list[StoredTask]) -> None:
    now, tail = manifest, list[StoredTask]()
    for task in tasks:
        tail.append(task)
        if is_full(tail):
            now = replace(now, segments=(*now.segments, seal(now.folder, tail)), _loaded=[])
            tail = []
    committed(replace(now, tail=tuple(tail), _loaded=[]))


def _number(shard: str) -> int:
    return int(shard.partition("-")[0])
