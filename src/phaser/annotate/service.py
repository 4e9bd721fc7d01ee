"""The annotator's answers and actions, as plain values: the server only passes them on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

from phaser.annotate.loaded import LoadedTask
from phaser.annotate.marks import Marks, marks_to_json
from phaser.annotate.sheets import COLUMNS, FRAMES_PER_SHEET, Sheets
from phaser.annotate.workspace import Workspace
from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.demos.source_tasks import SourceTask
from phaser.phases.autopc import AutoPC
from phaser.phases.verbs import PHASE_NAMES


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One thing that a person does to a demonstration."""

    do: str
    """A key of `EDITS`."""
    episode: int
    version: int
    seconds: float = 0.0
    step: int = 0
    to: int = 0
    phase: int = 0
    name: str = ""


class NotThere(BadInput):
    """No task, demonstration, camera or frame has this number."""


class Service:
    """All tasks of the sources that were opened, and the annotation that they get."""

    def __init__(self, sources: Sequence[SourceTask], workspace: Workspace, auto: AutoPC) -> None:
        self._sources, self._workspace, self._auto = tuple(sources), workspace, auto
        self._loaded: dict[int, LoadedTask] = {}
        self._sheets, self._lock = Sheets(), RLock()

    def overview(self) -> dict[str, Any]:
        """All tasks with their states, and names that phases may get."""
        with self._lock:
            used = self._workspace.names()
            return {
                "file": str(self._workspace.path),
                "who": self._workspace.who,
                "tasks": [self._task_line(number) for number in range(len(self._sources))],
                "names": list(dict.fromkeys([*used, *PHASE_NAMES])),
            }

    def task(self, number: int) -> dict[str, Any]:
        """A task with its demonstrations and their marks."""
        with self._lock:
            loaded, name = self._load(number), self._name(number)
            marks = self._workspace.marks(name)
            loaded.check(marks)
            undo, redo = self._workspace.undoable(name)
            return {
                "number": number,
                "name": name,
                "instruction": loaded.task.instruction,
                "version": self._workspace.version(name),
                "undo": undo,
                "redo": redo,
                "episodes": [
                    self._episode_line(loaded, demo, marks.get(demo.index))
                    for demo in loaded.demos.values()
                ],
                "line": self._task_line(number),
            }

    def episode(self, number: int, episode: int) -> dict[str, Any]:
        """The curves, candidates and cameras of a demonstration, for the page to draw."""
        with self._lock:
            loaded = self._load(number)
            demo = self._demo(loaded, episode)
            return {
                "episode": episode,
                "num_frames": demo.num_frames,
                "curves": loaded.curves(episode),
                "candidates": loaded.candidates(episode),
                "cameras": sorted(demo.cameras),
                "columns": COLUMNS,
                "frames_per_sheet": FRAMES_PER_SHEET,
            }

    def sheet(self, number: int, episode: int, camera: int, sheet: int) -> bytes:
        """Frames of a camera as JPEG."""
        with self._lock:
            demo = self._demo(self._load(number), episode)
        cameras = sorted(demo.cameras)
        if not 0 <= camera < len(cameras):
            raise NotThere(f"there is no camera {camera}")
        found = self._sheets.sheet(demo, cameras[camera], sheet) if sheet >= 0 else None
        if found is None:
            raise NotThere(f"there is no sheet {sheet}")
        return found

    def edit(self, number: int, edit: Edit) -> dict[str, Any]:
        """Do one thing, save it, and give the task as it is then."""
        if edit.do not in EDITS:
            raise BadInput(f"{edit.do!r} is no edit; expected one of {', '.join(EDITS)}")
        with self._lock:
            loaded, name = self._load(number), self._name(number)
            demo = self._demo(loaded, edit.episode)
            known = self._workspace.marks(name)
            marks = known.get(edit.episode) or Marks(num_frames=demo.num_frames)
            new, what = EDITS[edit.do](marks, edit, loaded)
            changed = {edit.episode: new}
            if edit.do == "verify":
                changed |= loaded.carried(edit.episode, new, known)
            self._change(number, changed, what, edit)
            return self.task(number)

    def propose(self, number: int, *, version: int) -> dict[str, Any]:
        """Give all demonstrations that nobody touched the phases that Auto-PC finds."""
        with self._lock:
            loaded, name = self._load(number), self._name(number)
            known = self._workspace.marks(name)
            found = loaded.proposed(self._workspace.before(name))
            new = {at: marks for at, marks in found.items() if at not in known}
            if new:
                self._workspace.instructions[name] = loaded.task.instruction
                self._workspace.change(name, new, what="propose phases", version=version)
            return self.task(number)

    def undo(self, number: int, *, version: int) -> dict[str, Any]:
        """Take the last change of a task back."""
        with self._lock:
            self._workspace.undo(self._name(number), version=version)
            return self.task(number)

    def redo(self, number: int, *, version: int) -> dict[str, Any]:
        """Make the change again that was taken back last."""
        with self._lock:
            self._workspace.redo(self._name(number), version=version)
            return self.task(number)

    def _change(self, number: int, marks: dict[int, Marks], what: str, edit: Edit) -> None:
        name = self._name(number)
        self._workspace.instructions[name] = self._sources[number].task.instruction
        self._workspace.change(
            name,
            marks,
            what=f"{what} in demonstration {edit.episode}",
            version=edit.version,
            seconds=edit.seconds,
        )

    def _name(self, number: int) -> str:
        if not 0 <= number < len(self._sources):
            raise NotThere(f"there is no task {number}")
        return self._sources[number].task.name

    def _load(self, number: int) -> LoadedTask:
        self._name(number)
        if number not in self._loaded:
            source = self._sources[number]
            self._loaded[number] = LoadedTask(source.task, list(source.demos()), self._auto)
        return self._loaded[number]

    def _demo(self, loaded: LoadedTask, episode: int) -> Demo:
        found = loaded.demo(episode)
        if found is None:
            raise NotThere(f"there is no demonstration {episode}")
        return found

    def _task_line(self, number: int) -> dict[str, Any]:
        source = self._sources[number]
        marks = self._workspace.marks(source.task.name)
        verified = sum(one.state == "verified" for one in marks.values())
        state = "untouched" if not marks else "candidate"
        return {
            "name": source.task.name,
            "instruction": source.task.instruction,
            "num_demos": source.num_demos,
            "num_verified": verified,
            "state": "verified" if verified and verified >= source.num_demos else state,
        }

    def _episode_line(self, loaded: LoadedTask, demo: Demo, marks: Marks | None) -> dict[str, Any]:
        marks = marks or Marks(num_frames=demo.num_frames)
        return {
            "episode": demo.index,
            **marks_to_json(marks),
            "confidences": loaded.confidences(demo.index, marks),
            "look": loaded.needs_a_look(demo.index, marks),
        }


def _set(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    new = marks.with_boundary(edit.step, name=edit.name or None)
    return new, f"set a boundary at frame {edit.step}"


def _delete(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    return marks.without_boundary(edit.step), f"delete the boundary at frame {edit.step}"


def _move(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    new = marks.moved(edit.step, edit.to)
    return new, f"move the boundary from frame {edit.step} to {edit.to}"


def _nudge(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    by = edit.to
    return marks.nudged(edit.step, by), f"nudge the boundary at frame {edit.step} by {by}"


def _snap(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    steps = [int(one["step"]) for one in loaded.candidates(edit.episode)]
    return marks.snapped(edit.step, steps), f"snap the boundary at frame {edit.step}"


def _rename(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    return marks.renamed(edit.phase, edit.name), f"name phase {edit.phase + 1} {edit.name!r}"


def _verify(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    return marks.verified(), "verify the phases"


def _reopen(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    return marks.reopened(), "open the phases again"


EDITS: dict[str, Callable[[Marks, Edit, LoadedTask], tuple[Marks, str]]] = {
    "set": _set,
    "delete": _delete,
    "move": _move,
    "nudge": _nudge,
    "snap": _snap,
    "name": _rename,
    "verify": _verify,
    "reopen": _reopen,
}
