"""Every change of an annotation, one line each, on the disk before it is shown to be made.

The first line holds the file as it was; the lines after it hold the marks before and after each
change. Replaying them gives the document, and what can be undone, also in another process.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from phaser.annotate.marks import Marks, marks_from_json, marks_to_json
from phaser.core.errors import BrokenFile
from phaser.core.files import parsed_json, read_bytes, write_bytes, writing

FORMAT, VERSION = "phaser-annotate-journal", 1
Kind = Literal["edit", "undo", "redo"]
_KEYS = {"kind", "task", "what", "who", "when", "seconds", "changes", "sha256"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """The marks of one demonstration before and after."""

    episode: int
    before: Marks | None
    after: Marks | None

    def reversed(self) -> Change:
        return Change(episode=self.episode, before=self.after, after=self.before)


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One change of a task, perhaps of several demonstrations at once."""

    kind: Kind
    task: str
    what: str
    """In words, such as "set a boundary at 57"."""
    who: str
    when: str
    seconds: float
    """Time spent on the task since the entry before."""
    changes: tuple[Change, ...]
    sha256: str = ""
    """The SHA-256 of the annotation's file after this change."""


class Journal:
    """The journal of one annotation, open for appending."""

    def __init__(self, path: Path, base: Any, entries: Sequence[Entry], remark: str = "") -> None:
        self.path, self.base, self.entries, self.remark = path, base, list(entries), remark

    @classmethod
    def begin(cls, path: Path, base: Any) -> Journal:
        """A new journal, over `base`, the content of the file that is annotated."""
        head = {"format": FORMAT, "version": VERSION, "base": base}
        write_bytes(path, _line(head))
        return cls(path, base, ())

    @classmethod
    def read(cls, path: Path) -> Journal:
        """The journal on the disk; a last line that a kill cut short is taken away."""
        content = read_bytes(path)
        whole = content[: content.rfind(b"\n") + 1]
        remark = ""
        if whole != content:
            with writing(path), path.open("r+b") as stream:
                stream.truncate(len(whole))
                os.fsync(stream.fileno())
            remark = f"{path}: the last change was not written whole and is left out"
        lines = whole.splitlines()
        head = parsed_json(lines[0], f"{path}, line 1") if lines else {}
        about = {"format": FORMAT, "version": VERSION}
        if not isinstance(head, dict) or "base" not in head or not about.items() <= head.items():
            raise BrokenFile(
                f"{path} is no journal of this version; move it away to begin a new one"
            )
        entries = [_entry(one, f"{path}, line {n}") for n, one in enumerate(lines[1:], start=2)]
        return cls(path, head["base"], entries, remark)

    def append(self, entry: Entry) -> None:
        """Write one more entry; it is on the disk when this returns."""
        with writing(self.path), self.path.open("ab") as stream:
            stream.write(_line(_to_json(entry)))
            stream.flush()
            os.fsync(stream.fileno())
        self.entries.append(entry)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _to_json(entry: Entry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "task": entry.task,
        "what": entry.what,
        "who": entry.who,
        "when": entry.when,
        "seconds": entry.seconds,
        "changes": [
            [
                one.episode,
                marks_to_json(one.before) if one.before else None,
                marks_to_json(one.after) if one.after else None,
            ]
            for one in entry.changes
        ],
        "sha256": entry.sha256,
    }


def _entry(line: bytes, where: str) -> Entry:
    value = parsed_json(line, where)
    if not isinstance(value, dict) or set(value) != _KEYS or value["kind"] not in get_args(Kind):
        raise BrokenFile(f"{where} is no change; move the journal away to begin a new one")
    texts = [value[name] for name in ("task", "what", "who", "when", "sha256")]
    seconds, changes = value["seconds"], value["changes"]
    numbers = isinstance(seconds, int | float) and isinstance(changes, list)
    if not all(isinstance(one, str) for one in texts) or not numbers:
        raise BrokenFile(f"{where} is no change; move the journal away to begin a new one")
    return Entry(
        kind=cast("Kind", value["kind"]),
        task=value["task"],
        what=value["what"],
        who=value["who"],
        when=value["when"],
        seconds=float(seconds),
        changes=tuple(_change(one, where) for one in changes),
        sha256=value["sha256"],
    )


def _change(value: Any, where: str) -> Change:
    if not isinstance(value, list) or len(value) != 3 or not isinstance(value[0], int):
        raise BrokenFile(
            f"{where}: a change is {str(value)[:60]}; expected [episode, before, after]"
        )
    before, after = (None if one is None else marks_from_json(one, where) for one in value[1:])
    return Change(episode=value[0], before=before, after=after)
