"""Sealed entries of a memory's tasks: files that are written once and named by their own hash."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import write_text
from phaser.memory.stored_task import StoredTask, stored_task, task_line
from phaser.memory.tensor_file import open_regular

INDEX = "index"
SEGMENT_NAME = re.compile(r"[0-9]{6,9}-[0-9a-f]{12}\.json")
MAX_BYTES = 1 << 28
TASKS_PER_SEGMENT = 32
TAIL_BYTES = 1 << 17
"""A manifest seals its newest entries when they are more than these in number or size."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """One sealed file of entries, and the sums of what it lists."""

    file: str
    """File name inside `index/`."""
    sha256: str
    num_bytes: int
    num_tasks: int
    num_frames: int
    shard_bytes: int

    def __post_init__(self) -> None:
        if not SEGMENT_NAME.fullmatch(self.file) or self.file[-17:-5] != self.sha256[:12]:
            raise BadInput(f"{self.file!r} is no segment with the hash {self.sha256!r}")
        counts = (self.num_bytes, self.num_tasks, self.num_frames, self.shard_bytes)
        if not all(type(count) is int and 0 <= count < 1 << 62 for count in counts):
            raise BadInput(f"segment {self.file!r} has the counts {counts}")
        if self.num_bytes > MAX_BYTES:
            raise BadInput(f"segment {self.file!r} of {self.num_bytes} bytes")

    def fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def parsed_segment(entry: Any) -> Segment:
    """The segment that a manifest names."""
    if not isinstance(entry, dict) or type(entry.get("file")) is not str:
        raise BadInput("a segment that is no object")
    return Segment(**entry)


@lru_cache(maxsize=1 << 14)
def segment_line(segment: Segment) -> str:
    """The one form of a segment in a manifest; a manifest writes the same ones every time."""
    return json.dumps(segment.fields(), sort_keys=True, allow_nan=False)


def is_full(tail: Sequence[StoredTask]) -> bool:
    """True when the newest entries should be sealed."""
    if len(tail) > TASKS_PER_SEGMENT:
        return True
    # A rough size is enough, and spares writing every entry twice.
    size = sum(300 + len(task.instruction) + 120 * len(task.phases) for task in tail)
    return size > TAIL_BYTES


def seal(folder: Path, tasks: Sequence[StoredTask]) -> Segment:
    """Write entries into a segment; one that is there already is left as it is."""
    text = "[\n" + ",\n".join(task_line(task) for task in tasks) + "\n]\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    number = int(tasks[0].shard.partition("-")[0])
    segment = Segment(
        file=f"{number:06d}-{digest[:12]}.json",
        sha256=digest,
        num_bytes=len(text.encode()),
        num_tasks=len(tasks),
        num_frames=sum(task.num_frames for task in tasks),
        shard_bytes=sum(task.num_bytes for task in tasks),
    )
    path = folder / INDEX / segment.file
    if not path.exists():
        write_text(path, text)
    return segment


REMEMBERED_FOLDERS = 16
_LAST: dict[str, dict[Segment, tuple[StoredTask, ...]]] = {}
"""By folder the segments that were read last; a segment never changes."""


def read_segments(folder: Path, segments: Sequence[Segment]) -> list[tuple[StoredTask, ...]]:
    """The tasks of all segments of a memory, if every byte is as it was written.

    What was read before is remembered as long as it is asked for.
    """
    known = _LAST.get(str(folder), {})
    now = {one: known.get(one) or check_segment(folder, one) for one in segments}
    if len(_LAST) >= REMEMBERED_FOLDERS:
        _LAST.clear()
    _LAST[str(folder)] = now
    return list(now.values())


def check_segment(folder: Path, segment: Segment) -> tuple[StoredTask, ...]:
    """Read a segment from the disk, whatever was read before."""
    path = folder / INDEX / segment.file
    with os.fdopen(open_regular(path), "rb") as stream:
        raw = stream.read(segment.num_bytes + 1)
    if len(raw) != segment.num_bytes or hashlib.sha256(raw).hexdigest() != segment.sha256:
        raise BrokenFile(f"{path} was changed after it was written; restore it")
    try:
        tasks = tuple(stored_task(entry) for entry in json.loads(raw))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, BadInput) as error:
        raise BrokenFile(f"{path} lists no tasks of a memory ({error}); restore it") from error
    sums = (
        len(tasks),
        sum(task.num_frames for task in tasks),
        sum(task.num_bytes for task in tasks),
    )
    if sums != (segment.num_tasks, segment.num_frames, segment.shard_bytes):
        raise BrokenFile(f"{path} lists other tasks than the manifest counts; restore it")
    return tasks
