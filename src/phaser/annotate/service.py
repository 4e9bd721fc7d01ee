"""The annotator's answers and actions, as plain values: the server only passes them on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

from phaser.annotate.beside import Beside, agreed, difference, taken_over
from phaser.annotate.edits import EDITS, Edit
from phaser.annotate.lerobot_copy import LeRobotCopy
from phaser.annotate.loaded import LoadedTask
from phaser.annotate.marks import Marks, marks_to_json
from phaser.annotate.opinion import Opinion, ask
from phaser.annotate.sheets import COLUMNS, FRAMES_PER_SHEET, Sheets
from phaser.annotate.workspace import Workspace
from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.demos.source_tasks import SourceTask
from phaser.phases.autopc import AutoPC
from phaser.phases.verbs import PHASE_NAMES
from phaser.phases.verify import Verifier


class NotThere(BadInput):
    """No task, demonstration, camera or frame has this number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Aids:
    """Help that a person may ask for while annotating; each is there only if it was named."""

    beside: Beside | None = None
    verifier: Verifier | None = None
    lerobot: LeRobotCopy | None = None


class Service:
    """All tasks of the sources that were opened, and the annotation that they get."""

    def __init__(
        self,
        sources: Sequence[SourceTask],
        workspace: Workspace,
        auto: AutoPC,
        aids: Aids | None = None,
    ) -> None:
        self._sources, self._workspace, self._auto = tuple(sources), workspace, auto
        self._aids = aids or Aids()
        self._loaded: dict[int, LoadedTask] = {}
        self._opinions: dict[tuple[int, int], Opinion] = {}
        self._sheets, self._lock = Sheets(), RLock()

    def overview(self) -> dict[str, Any]:
        """All tasks with their states, and names that phases may get."""
        with self._lock:
            used = self._workspace.names()
            verifier, lerobot = self._aids.verifier, self._aids.lerobot
            return {
                "file": str(self._workspace.path),
                "who": self._workspace.who,
                "tasks": [self._task_line(number) for number in range(len(self._sources))],
                "names": list(dict.fromkeys([*used, *PHASE_NAMES])),
                "model": verifier.vlm.server.model if verifier else None,
                "lerobot": str(lerobot.out) if lerobot else None,
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
                "beside": self._beside(loaded, marks),
                "episodes": [
                    self._episode_line(number, demo, marks.get(demo.index))
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
            others = [one for at, one in known.items() if at != edit.episode]
            # Later ones may be odd: they lack a phase or repeat one, and keep that to themselves.
            first = not any(one.state == "verified" for one in others)
            if edit.do == "give" or (edit.do == "verify" and first):
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

    def take_over(self, number: int, edit: Edit) -> dict[str, Any]:
        """Give a demonstration the phases that the second annotator gave it."""
        with self._lock:
            loaded = self._load(number)
            demo, beside = self._demo(loaded, edit.episode), self._aids.beside
            other = beside.cut(loaded.task.name, demo) if beside else None
            if other is None:
                raise BadInput("the second annotation has no phases of this demonstration")
            self._change(number, {demo.index: taken_over(other)}, "take over the phases", edit)
            return self.task(number)

    def ask_model(self, number: int, episode: int) -> dict[str, Any]:
        """Ask the vision-language model about a demonstration; nothing is changed by it."""
        with self._lock:
            loaded = self._load(number)
            demo, verifier = self._demo(loaded, episode), self._aids.verifier
            if verifier is None:
                raise BadInput("no model was named; start with --verify MODEL --vlm-url URL")
            candidates = self._auto.candidates(demo)
        # Not under the lock: an answer may take minutes, and the page goes on meanwhile.
        opinion = ask(
            verifier,
            demo,
            candidates=[one for one in candidates if one.step > 0],
            instruction=loaded.task.instruction,
            reading=self._sheets.reading,
        )
        with self._lock:
            self._opinions[number, episode] = opinion
            return self.task(number)

    def decide(self, number: int, edit: Edit) -> dict[str, Any]:
        """Accept or refuse one decision of the model, or accept all of them."""
        with self._lock:
            name, opinion = self._name(number), self._opinions.get((number, edit.episode))
            if opinion is None:
                raise BadInput("the model was not asked about this demonstration; ask it first")
            demo = self._demo(self._load(number), edit.episode)
            known = self._workspace.marks(name).get(demo.index)
            marks = known or Marks(num_frames=demo.num_frames)
            if edit.do == "accept-all":
                new, what = opinion.all_applied(demo.num_frames), "accept the model's phases"
            elif edit.do == "accept":
                decision = opinion.decision(edit.phase)
                new, what = decision.applied(marks), f"accept {decision.action} at {decision.to}"
                opinion.refused.discard(edit.phase)
            elif edit.do == "refuse":
                opinion.decision(edit.phase)
                opinion.refused.add(edit.phase)
                return self.task(number)
            else:
                raise BadInput(f"{edit.do!r}; expected accept, refuse or accept-all")
            self._change(number, {demo.index: new}, what, edit)
            return self.task(number)

    def write_lerobot(self) -> dict[str, Any]:
        """Write copies of the datasets with the phases as LeRobot's subtask columns."""
        with self._lock:
            if self._aids.lerobot is None:
                raise BadInput("no folder was named; start with --lerobot DIR")
            names = [one.task.name for one in self._sources]
            marks = {name: self._workspace.marks(name) for name in names}
            return {"written": self._aids.lerobot.write(self._sources, marks)}

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

    def _episode_line(self, number: int, demo: Demo, marks: Marks | None) -> dict[str, Any]:
        marks, loaded = marks or Marks(num_frames=demo.num_frames), self._load(number)
        beside, opinion = self._aids.beside, self._opinions.get((number, demo.index))
        other = beside.cut(loaded.task.name, demo) if beside else None
        return {
            "episode": demo.index,
            **marks_to_json(marks),
            "confidences": loaded.confidences(demo.index, marks),
            "look": loaded.needs_a_look(demo.index, marks),
            "beside": difference(marks, other) if other else None,
            "opinion": opinion.to_json(marks) if opinion else None,
        }

    def _beside(self, loaded: LoadedTask, marks: Mapping[int, Marks]) -> dict[str, Any] | None:
        beside, name = self._aids.beside, loaded.task.name
        if beside is None:
            return None
        cuts = [(number, beside.cut(name, demo)) for number, demo in loaded.demos.items()]
        pairs = [(marks[number], cut) for number, cut in cuts if cut and number in marks]
        return {"who": beside.who(name), "file": beside.path.name, "agreement": agreed(pairs)}
