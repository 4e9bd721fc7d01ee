"""One annotation on the disk, edited by one process: autosaved, versioned, undoable for good."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from phaser.annotate.document import EpisodeMarks, marks_in, stages_of
from phaser.annotate.journal import Change, Entry, Journal, Kind, digest
from phaser.annotate.marks import Marks
from phaser.core.errors import BadInput, PhaserError
from phaser.core.files import parsed_json, read_bytes, write_bytes
from phaser.core.locks import exclusive
from phaser.phases.stage_info import stage_info_json, stages_in
from phaser.phases.stages import Annotator, TaskStages

LONGEST_PAUSE_S = 60.0
"""A change counts at most this much time; who takes longer has paused."""


class Conflict(PhaserError):
    """Somebody else has changed the task since it was shown."""


class Workspace:
    """The marks of all tasks, and every change of them since the journal began."""

    def __init__(self, path: Path, journal: Journal, *, who: str) -> None:
        self.path, self.who, self._journal = path, who, journal
        place = f"{journal.path}, line 1"
        self._before: dict[str, TaskStages] = (
            {} if journal.base is None else stages_in(journal.base, place)
        )
        self._marks: dict[str, EpisodeMarks] = {
            task: marks_in(stages) for task, stages in self._before.items()
        }
        self.instructions = {task: one.instruction for task, one in self._before.items()}
        self._done: dict[str, list[Entry]] = {}
        self._undone: dict[str, list[Entry]] = {}
        self._versions: dict[str, int] = {}
        self._times: dict[str, Annotator] = {
            task: one.annotated for task, one in self._before.items() if one.annotated
        }
        for entry in journal.entries:
            self._take(entry)

    def marks(self, task: str) -> Mapping[int, Marks]:
        """Marks of the demonstrations of a task that have any."""
        return dict(self._marks.get(task, {}))

    def before(self, task: str) -> TaskStages | None:
        """The phases that the file held of the task when the journal began."""
        return self._before.get(task)

    def version(self, task: str) -> int:
        """How many changes the task has seen; it says which state somebody has looked at."""
        return self._versions.get(task, 0)

    def names(self) -> list[str]:
        """All names that phases of this annotation have, the most used first."""
        counts: dict[str, int] = {}
        for episodes in self._marks.values():
            for one in episodes.values():
                for name in one.names:
                    counts[name] = counts.get(name, 0) + 1
        return sorted(counts, key=lambda name: (-counts[name], name))

    def undoable(self, task: str) -> tuple[str, str]:
        """Two sentences that say what undo and redo would change; empty where there is nothing."""
        done, undone = self._done.get(task), self._undone.get(task)
        return done[-1].what if done else "", undone[-1].what if undone else ""

    def change(
        self,
        task: str,
        marks: Mapping[int, Marks],
        *,
        what: str,
        version: int,
        seconds: float = 0.0,
    ) -> None:
        """Put these marks in the place of the old ones, and save; all or nothing.

        Args:
            task: its name.
            marks: new ones, by the number of the demonstration.
            what: the change in words.
            version: of the task, as it was when whoever changes it saw it.
            seconds: how long it took.
        """
        self._require(task, version)
        old = self._marks.get(task, {})
        changes = tuple(
            Change(episode=number, before=old.get(number), after=one)
            for number, one in marks.items()
            if old.get(number) != one
        )
        if changes:
            self._write("edit", task, what, changes, seconds)

    def undo(self, task: str, *, version: int) -> str:
        """Take the last change of a task back; says which it was."""
        self._require(task, version)
        if not self._done.get(task):
            raise BadInput("there is nothing to undo")
        last = self._done[task][-1]
        self._write("undo", task, last.what, [one.reversed() for one in last.changes], 0.0)
        return last.what

    def redo(self, task: str, *, version: int) -> str:
        """Make the change again that was taken back last; says which it was."""
        self._require(task, version)
        if not self._undone.get(task):
            raise BadInput("there is nothing to do again")
        last = self._undone[task][-1]
        self._write("redo", task, last.what, last.changes, 0.0)
        return last.what

    def stages(self) -> dict[str, TaskStages]:
        """All tasks as the file holds them."""
        found = {}
        for task in dict.fromkeys([*self._before, *self._marks]):
            one = stages_of(
                self._marks.get(task, {}),
                instruction=self.instructions.get(task, ""),
                before=self._before.get(task),
                annotated=self._times.get(task),
            )
            if one is not None:
                found[task] = one
        return found

    def save(self) -> None:
        """Write the file as it is now."""
        write_bytes(self.path, self._content())

    def _require(self, task: str, version: int) -> None:
        if version != self.version(task):
            raise Conflict(
                f"{task} was changed elsewhere since this page showed it; nothing was changed now"
            )

    def _write(
        self, kind: Kind, task: str, what: str, changes: Sequence[Change], seconds: float
    ) -> None:
        entry = Entry(
            kind=kind,
            task=task,
            what=what,
            who=self.who,
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=min(max(seconds, 0.0), LONGEST_PAUSE_S),
            changes=tuple(changes),
        )
        undo = self._copy(task)
        self._take(entry)
        try:
            content = self._content()
            self._journal.append(replace(entry, sha256=digest(content)))
        except BaseException:
            self._restore(task, undo)
            raise
        write_bytes(self.path, content)

    def _content(self) -> bytes:
        value = stage_info_json(self.stages())
        return (json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()

    def _take(self, entry: Entry) -> None:
        episodes = self._marks.setdefault(entry.task, {})
        for change in entry.changes:
            if change.after is None:
                episodes.pop(change.episode, None)
            else:
                episodes[change.episode] = change.after
        done = self._done.setdefault(entry.task, [])
        undone = self._undone.setdefault(entry.task, [])
        if entry.kind == "undo":
            undone.append(done.pop())
        elif entry.kind == "redo":
            done.append(undone.pop())
        else:
            done.append(entry)
            undone.clear()
        self._versions[entry.task] = self.version(entry.task) + 1
        spent = self._times[entry.task].seconds if entry.task in self._times else 0.0
        self._times[entry.task] = Annotator(
            who=entry.who, when=entry.when, seconds=round(spent + entry.seconds, 1)
        )

    def _copy(self, task: str) -> tuple[Any, ...]:
        return (
            dict(self._marks.get(task, {})),
            list(self._done.get(task, [])),
            list(self._undone.get(task, [])),
            self.version(task),
            self._times.get(task),
        )

    def _restore(self, task: str, kept: tuple[Any, ...]) -> None:
        marks, done, undone, version, times = kept
        self._marks[task], self._done[task], self._undone[task] = marks, done, undone
        self._versions[task] = version
        self._times.pop(task, None)
        if times is not None:
            self._times[task] = times


@contextmanager
def open_workspace(path: Path, *, who: str) -> Iterator[tuple[Workspace, list[str]]]:
    """The annotation in a file, which need not exist yet, and remarks for the user.

    The journal lies beside it, as `FILE.journal`. Where the file is not what the journal last
    wrote, somebody else has changed it: their file counts, and the journal is set aside.
    """
    with exclusive(path.with_name(f".{path.name}.lock"), what="the annotation in"):
        remarks: list[str] = []
        place = path.with_name(f"{path.name}.journal")
        journal = Journal.read(place) if place.exists() else None
        content = read_bytes(path) if path.exists() else None
        if journal is not None and not _follows(content, journal):
            aside = _free(place)
            place.rename(aside)
            remarks.append(
                f"{path} was changed by another program, so its phases count; what could be "
                f"undone before is in {aside.name}"
            )
            journal = None
        if journal is None:
            base = None if content is None else parsed_json(content, str(path))
            stages_in({} if base is None else base, str(path))
            journal = Journal.begin(place, base)
        remarks += [journal.remark] if journal.remark else []
        workspace = Workspace(path, journal, who=who)
        if journal.entries and (content is None or digest(content) != journal.entries[-1].sha256):
            # A kill came between the journal and the file, or somebody deleted the file.
            workspace.save()
            remarks.append(f"{path} was written again from {place.name}")
        yield workspace, remarks


def _follows(content: bytes | None, journal: Journal) -> bool:
    """True if this journal wrote the file, or began with it."""
    if content is None:
        return True
    if digest(content) in {one.sha256 for one in journal.entries}:
        return True
    try:
        return bool(json.loads(content) == journal.base)
    except ValueError:
        return False


def _free(place: Path) -> Path:
    number = 1
    while (aside := place.with_name(f"{place.name}.{number}")).exists():
        number += 1
    return aside
