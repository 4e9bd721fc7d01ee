"""manifest.json: which tasks a memory holds, in order, and what each of its shards must be.

The manifest is the commit point: a shard that it does not name does not exist. Its text has one
form only, so that any changed byte shows: what was read is written again and compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import write_text
from phaser.memory.codecs import ImageCodec
from phaser.memory.tensor_file import open_regular

FORMAT = "phaser-memory"
VERSION = 1
MANIFEST = "manifest.json"
MAX_BYTES = 1 << 28
SHARD_NAME = re.compile(r"[0-9]{3,9}-[a-z0-9-]{0,80}-[0-9a-f]{12}\.safetensors")
_COUNTS = (
    *("index", "frames", "bytes", "candidates"),
    *("share", "shortfall", "redistributed", "forgotten"),
)

_TYPES = {
    **dict.fromkeys(("name", "instruction", "shard", "sha256", "added"), str),
    **dict.fromkeys(("num_bytes", "num_frames"), int),
    **dict.fromkeys(("source", "codec"), dict),
    "phases": list,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTask:
    """One task of a memory and the shard that holds its frames."""

    name: str
    instruction: str
    shard: str
    """File name inside `tasks/`."""
    num_bytes: int
    sha256: str
    num_frames: int
    added: str
    """UTC, ISO 8601."""
    source: Mapping[str, str]
    codec: ImageCodec
    phases: tuple[Mapping[str, Any], ...]
    """Rows of the certificate; phases that hold no frame are listed with 0."""

    def __post_init__(self) -> None:
        # Nothing but a plain name of our own making: no separator, no dots that lead elsewhere.
        if not SHARD_NAME.fullmatch(self.shard) or self.sha256[:12] != self.shard[-24:-12]:
            raise BadInput(f"{self.shard!r} is no name of a shard with the hash {self.sha256!r}")
        if not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise BadInput(f"{self.sha256!r} is no SHA-256")
        for row in self.phases:
            _check_row(row, self.name)
        indices = [row["index"] for row in self.phases]
        if indices != sorted(set(indices)):
            raise BadInput(f"task {self.name!r} lists its phases as {indices}")
        held = sum(row["frames"] for row in self.phases)
        if held != self.num_frames or held < 1:
            raise BadInput(f"task {self.name!r} has {self.num_frames} frames, its phases {held}")

    def holding(self) -> list[Mapping[str, Any]]:
        """The phases that hold frames, in the order of the shard's rows."""
        return [row for row in self.phases if row["frames"]]

    def fields(self) -> dict[str, Any]:
        """As the manifest writes it; dataclasses.asdict would copy a hundred thousand rows."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**own, "codec": asdict(self.codec)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """All that is true of a memory; a new one replaces it whenever a task comes or goes."""

    about: Mapping[str, Any]
    tasks: tuple[StoredTask, ...] = ()

    def __post_init__(self) -> None:
        names = [task.name for task in self.tasks]
        shards = [task.shard for task in self.tasks]
        if len(set(names)) != len(names) or len(set(shards)) != len(shards):
            raise BadInput(f"a memory with two tasks of one name among {names}")

    def with_task(self, task: StoredTask) -> Manifest:
        return replace(self, tasks=(*self.tasks, task))

    def rows(self) -> list[dict[str, Any]]:
        """Rows of all phases, as the certificate wants them."""
        return [{"task": task.name, **row} for task in self.tasks for row in task.phases]

    def text(self) -> str:
        """The one form of this manifest: a line per task, keys in order, its own hash inside."""
        blank = self._text("")
        return self._text(hashlib.sha256(blank.encode()).hexdigest())

    def _text(self, checksum: str) -> str:
        fields = {
            "format": _line(FORMAT),
            "version": _line(VERSION),
            "checksum": _line(checksum),
            "about": _line(self.about),
            "tasks": "[\n" + ",\n".join(_line(task.fields()) for task in self.tasks) + "\n]",
        }
        return "{\n" + ",\n".join(f'"{key}": {value}' for key, value in fields.items()) + "\n}\n"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    write_text(folder / MANIFEST, manifest.text())


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a memory, if every byte of it is as it was written."""
    path = folder / MANIFEST
    handle = open_regular(path)
    with os.fdopen(handle, "rb") as stream:
        raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise BrokenFile(f"{path} is larger than {MAX_BYTES} bytes; restore it")
    try:
        manifest = _parsed(json.loads(raw), path)
        same = manifest.text().encode() == raw
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, BadInput) as error:
        if isinstance(error, BrokenFile):
            raise
        raise BrokenFile(f"{path} is no manifest of a memory ({error}); restore it") from error
    if not same:
        raise BrokenFile(f"{path} was changed after it was written; restore it")
    return manifest


def _parsed(found: Any, path: Path) -> Manifest:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BrokenFile(f"{path} is not the manifest of a phaser memory; choose another folder")
    if found.get("version") != VERSION:
        raise BrokenFile(
            f"{path} is of format version {found.get('version')!r}, this phaser reads {VERSION}; "
            "install a newer phaser"
        )
    tasks = []
    for entry in found["tasks"]:
        _check_types(entry)
        codec, phases = ImageCodec(**entry["codec"]), tuple(entry["phases"])
        tasks.append(StoredTask(**{**entry, "codec": codec, "phases": phases}))
    if not isinstance(found["about"], dict):
        raise BrokenFile(f"{path} has no description of its memory; restore it")
    return Manifest(about=found["about"], tasks=tuple(tasks))


def _check_types(entry: Any) -> None:
    """JSON can hold anything anywhere; only what the fields are meant to be goes on."""
    wrong = [name for name, kind in _TYPES.items() if type(entry[name]) is not kind]
    rows = wrong or [row for row in entry["phases"] if type(row) is not dict]
    if wrong or rows or set(entry) != set(_TYPES):
        raise BadInput(f"a task with fields that are wrong, missing or unknown: {wrong or rows}")
    texts = [entry["codec"]["name"], *entry["source"].values()]
    if not all(type(text) is str for text in texts) or type(entry["codec"]["quality"]) is not int:
        raise BadInput(f"task {entry['name']!r} has a source or codec that makes no sense")


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _check_row(row: Mapping[str, Any], task: str) -> None:
    counts = [row[name] for name in _COUNTS if name in row]
    if not all(type(count) is int and 0 <= count < 1 << 48 for count in counts):
        raise BadInput(f"task {task!r} has a phase with the counts {counts}")
    if not {"index", "label", "frames"} <= set(row) or not isinstance(row["label"], str):
        raise BadInput(f"task {task!r} has a phase without index, label or frames")
