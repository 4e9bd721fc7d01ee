"""manifest.json: which tasks a memory holds, in order, and what each of its files must be.

The manifest is the commit point: a file that it does not name does not exist. Entries of tasks are
kept in sealed segments beside it (`index/`), so that a memory of ten thousand tasks writes a few
kilobytes when one more is added; the newest entries are in the manifest itself. Its text has one
form only, so that any changed byte shows: what was read is written again and compared.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, BrokenFile, UnknownName
from phaser.core.files import write_text
from phaser.memory.index_segments import Segment, parsed_segment, read_segments, segment_line
from phaser.memory.stored_task import StoredTask, stored_task, task_line
from phaser.memory.tensor_file import open_regular

FORMAT = "phaser-memory"
VERSION = 2
MANIFEST = "manifest.json"
MAX_BYTES = 1 << 28
MAX_ABOUT = 1 << 20
"""Characters of the description of a memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Removal:
    """A file that the commit took out of the memory; whoever writes next removes what is left."""

    file: str
    erase: bool
    """Overwritten with zeros first: its frames were forgotten, not evicted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredState:
    """Tensors that the rules of a method left for the next task."""

    file: str
    num_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """All that is true of a memory; a new one replaces it whenever a task comes or goes."""

    folder: Path
    about: Mapping[str, Any]
    segments: tuple[Segment, ...] = ()
    tail: tuple[StoredTask, ...] = ()
    """The newest tasks."""
    next_number: int = 0
    """The number of the next shard; numbers are never used again."""
    removed: tuple[Removal, ...] = ()
    state: StoredState | None = None
    version: int = VERSION
    """The version that was read; what is written is always the newest."""
    _loaded: list[tuple[StoredTask, ...]] = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        names = [task.name for task in self.tail]
        if len(set(names)) != len(names):
            raise BadInput(f"a memory with two tasks of one name among {names}")
        if len(_line(self.about)) > MAX_ABOUT:
            raise BadInput(f"a memory is described in at most {MAX_ABOUT} characters")

    @property
    def tasks(self) -> tuple[StoredTask, ...]:
        """All tasks, oldest first; sealed entries are read when they are first asked for."""
        if not self._loaded:
            sealed = read_segments(self.folder, self.segments)
            self._loaded.append((*chain.from_iterable(sealed), *self.tail))
        return self._loaded[0]

    @property
    def num_tasks(self) -> int:
        return sum(one.num_tasks for one in self.segments) + len(self.tail)

    @property
    def num_frames(self) -> int:
        sealed = sum(one.num_frames for one in self.segments)
        return sealed + sum(task.num_frames for task in self.tail)

    @property
    def num_bytes(self) -> int:
        """Bytes of all shards."""
        sealed = sum(one.shard_bytes for one in self.segments)
        return sealed + sum(task.num_bytes for task in self.tail)

    def check_new(self, name: str) -> None:
        """Refuse the name of a task that is stored already."""
        if any(task.name == name for task in self.tasks):
            raise BadInput(
                f"{self.folder} already holds a task {name!r}; give this one another name, or "
                "forget the stored one first"
            )

    def task(self, name: str) -> StoredTask:
        """The entry of that name, or an error with the nearest names."""
        for task in self.tasks:
            if task.name == name:
                return task
        raise UnknownName("task", name, [task.name for task in self.tasks])

    def with_task(self, task: StoredTask) -> Manifest:
        """The manifest with a task more, whose name was checked."""
        return replace(self, tail=(*self.tail, task), next_number=self.next_number + 1, _loaded=[])

    def rows(self) -> list[dict[str, Any]]:
        """Rows of all phases, as the certificate wants them."""
        return [{"task": task.name, **row} for task in self.tasks for row in task.phases]

    def text(self) -> str:
        """The one form of this manifest: a line per task, keys in order, its own hash inside."""
        lists = {
            "removed": [_line({"file": one.file, "erase": one.erase}) for one in self.removed],
            "segments": [segment_line(one) for one in self.segments],
            "tasks": [task_line(task) for task in self.tail],
        }
        state = self.state
        fields = {
            "about": _line(self.about),
            "next_number": _line(self.next_number),
            "state": _line(
                None
                if state is None
                else {"file": state.file, "num_bytes": state.num_bytes, "sha256": state.sha256}
            ),
            **{name: "[\n" + ",\n".join(lines) + "\n]" for name, lines in lists.items()},
        }
        return _with_checksum(VERSION, fields)


def as_json(about: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a memory, if JSON can hold it."""
    try:
        made: dict[str, Any] = json.loads(json.dumps(dict(about), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise BadInput(f"a memory is described in plain JSON; found {about!r} ({error})") from error
    return made


def write_manifest(manifest: Manifest) -> None:
    text = manifest.text()
    if len(text) > MAX_BYTES:
        raise BadInput(f"a manifest of {len(text)} bytes; expected at most {MAX_BYTES}")
    write_text(manifest.folder / MANIFEST, text)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a memory, if every byte of it is as it was written."""
    path = folder / MANIFEST
    with os.fdopen(open_regular(path), "rb") as stream:
        raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise BrokenFile(f"{path} is larger than {MAX_BYTES} bytes; restore it")
    return _checked(raw, folder)


@lru_cache(maxsize=4)
def _checked(raw: bytes, folder: Path) -> Manifest:
    """A task reads the manifest several times in a row, and mostly finds the same bytes."""
    path = folder / MANIFEST
    try:
        manifest = _parsed(json.loads(raw), folder)
        same = _written_again(manifest).encode() == raw
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, BadInput) as error:
        if isinstance(error, BrokenFile):
            raise
        raise BrokenFile(f"{path} is no manifest of a memory ({error}); restore it") from error
    if not same:
        raise BrokenFile(f"{path} was changed after it was written; restore it")
    return manifest


def _parsed(found: Any, folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BrokenFile(f"{path} is not the manifest of a phaser memory; choose another folder")
    version = found.get("version")
    if version not in (1, VERSION):
        raise BrokenFile(
            f"{path} is of format version {version!r}, this phaser reads 1 and {VERSION}; "
            "install a newer phaser"
        )
    if not isinstance(found["about"], dict):
        raise BrokenFile(f"{path} has no description of its memory; restore it")
    tail = tuple(stored_task(entry) for entry in found["tasks"])
    if version == 1:
        numbers = [int(task.shard.partition("-")[0]) for task in tail]
        return Manifest(
            folder=folder,
            about=found["about"],
            tail=tail,
            next_number=max(numbers, default=-1) + 1,
            version=1,
        )
    if type(found["next_number"]) is not int or found["next_number"] < 0:
        raise BadInput(f"next_number is {found['next_number']!r}")
    return Manifest(
        folder=folder,
        about=found["about"],
        segments=tuple(parsed_segment(one) for one in found["segments"]),
        tail=tail,
        next_number=found["next_number"],
        removed=tuple(_removal(one) for one in found["removed"]),
        state=_state(found["state"]),
    )


def _removal(entry: Any) -> Removal:
    removal = Removal(**entry)
    parts = removal.file.split("/")
    plain = len(parts) == 2 and parts[0] in ("tasks", "index", "state") and parts[1][:1] != "."
    plain = plain or removal.file == "budget.json"
    if not plain or "\\" in removal.file or "\0" in removal.file or type(removal.erase) is not bool:
        raise BadInput(f"{removal.file!r} is no file of a memory")
    return removal


def _state(entry: Any) -> StoredState | None:
    if entry is None:
        return None
    state = StoredState(**entry)
    expected = f"state/{state.sha256[:12]}.safetensors"
    if state.file != expected or type(state.num_bytes) is not int:
        raise BadInput(f"{state.file!r} is no state of a memory")
    return state


def _written_again(manifest: Manifest) -> str:
    if manifest.version == VERSION:
        return manifest.text()
    tasks = "[\n" + ",\n".join(task_line(task) for task in manifest.tail) + "\n]"
    return _with_checksum(1, {"about": _line(manifest.about), "tasks": tasks})


def _with_checksum(version: int, fields: Mapping[str, str]) -> str:
    """The text of a manifest, with the hash of itself in which the hash is left out."""
    start = f'{{\n"format": {_line(FORMAT)},\n"version": {version},\n"checksum": '
    end = ",\n" + ",\n".join(f'"{key}": {value}' for key, value in fields.items()) + "\n}\n"
    checksum = hashlib.sha256(f'{start}""{end}'.encode()).hexdigest()
    return f'{start}"{checksum}"{end}'


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)
