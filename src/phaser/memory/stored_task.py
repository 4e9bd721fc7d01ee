"""One task of a memory as its manifest describes it, checked field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phaser.core.errors import BadInput
from phaser.memory.codecs import ImageCodec

SHARD_NAME = re.compile(r"[0-9]{3,9}-[a-z0-9-]{0,80}-[0-9a-f]{12}\.safetensors")
MAX_NAME, MAX_INSTRUCTION, MAX_TEXT = 1_000, 100_000, 10_000
"""Characters of a task's name, of its instruction, and of any other text of an entry."""
_COUNTS = (
    *("index", "frames", "bytes", "candidates"),
    *("share", "shortfall", "redistributed", "forgotten", "evicted"),
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
        check_texts(self.name, self.instruction, self.source)
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
        own = {name: getattr(self, name) for name in _TYPES}
        return {**own, "codec": {"name": self.codec.name, "quality": self.codec.quality}}


def check_texts(name: str, instruction: str, source: Mapping[str, str]) -> None:
    """Refuse names and texts that no reader of a memory would accept."""
    for what, text, most in (
        ("a task's name", name, MAX_NAME),
        ("the instruction of a task", instruction, MAX_INSTRUCTION),
        *((f"the source's {key!r}", text, MAX_TEXT) for key, text in source.items()),
    ):
        if not isinstance(text, str):
            raise BadInput(f"{what} is {text!r}, of type {type(text).__name__}; expected text")
        if len(text) > most:
            raise BadInput(f"{what} has {len(text):,} characters; expected at most {most:,}")
    if not name:
        raise BadInput("a task without a name; expected text")


def task_line(task: StoredTask) -> str:
    """The one form of an entry."""
    return json.dumps(task.fields(), sort_keys=True, allow_nan=False)


def stored_task(entry: Any) -> StoredTask:
    """The task of an entry; JSON can hold anything anywhere, so every field is checked."""
    if not isinstance(entry, dict) or set(entry) != set(_TYPES):
        raise BadInput("a task with fields that are missing or unknown")
    wrong = [name for name, kind in _TYPES.items() if type(entry[name]) is not kind]
    rows = wrong or [row for row in entry["phases"] if type(row) is not dict]
    if wrong or rows:
        raise BadInput(f"a task with fields that are wrong: {wrong or rows}")
    codec = entry["codec"]
    if type(codec.get("name")) is not str or type(codec.get("quality")) is not int:
        raise BadInput(f"task {entry['name']!r} has a codec that makes no sense")
    made = {"codec": ImageCodec(**codec), "phases": tuple(entry["phases"])}
    return StoredTask(**{**entry, **made})


def _check_row(row: Mapping[str, Any], task: str) -> None:
    counts = [row[name] for name in _COUNTS if name in row]
    if not all(type(count) is int and 0 <= count < 1 << 48 for count in counts):
        raise BadInput(f"task {task!r} has a phase with the counts {counts}")
    if not {"index", "label", "frames"} <= set(row) or not isinstance(row["label"], str):
        raise BadInput(f"task {task!r} has a phase without index, label or frames")
    if len(row["label"]) > MAX_NAME:
        raise BadInput(f"task {task!r} has a phase whose label is longer than {MAX_NAME}")
