"""The annotated phases as LeRobot's subtask columns, in a copy of the dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from phaser.annotate.marks import Marks
from phaser.core.errors import BadInput
from phaser.core.segmentation import Segmentation
from phaser.demos.source_tasks import SourceTask
from phaser.phases.lerobot_export import write_phases


@dataclass(frozen=True, kw_only=True, slots=True)
class LeRobotCopy:
    """Where copies of the annotated datasets go, and in which form they hold the phases."""

    out: Path
    form: Literal["subtasks", "language"] = "subtasks"

    def write(
        self, sources: Sequence[SourceTask], marks_of: Mapping[str, Mapping[int, Marks]]
    ) -> str:
        """Write a copy of every dataset, and say where and what it holds, in one sentence.

        Args:
            sources: all tasks that are annotated; each must come from a LeRobot dataset.
            marks_of: the marks of every task by its name, by the number of the demonstration.
        """
        roots = datasets_of(sources)
        verified = total = 0
        written = []
        for root, tasks in roots.items():
            phases: dict[int, Segmentation] = {}
            for task in tasks:
                marks = marks_of.get(task, {})
                if not marks:
                    raise BadInput(f"task {task!r} has no phases yet; open it first")
                phases |= {at: one.segmentation() for at, one in marks.items() if one.names}
                verified += sum(one.state == "verified" for one in marks.values())
                total += len(marks)
            out = _free(self.out if len(roots) == 1 else self.out / root.name)
            write_phases(root, out, phases, source="human", form=self.form)
            written.append(str(out))
        return f"{' and '.join(written)} written, {verified} of {total} demonstrations verified"


def datasets_of(sources: Sequence[SourceTask]) -> dict[Path, list[str]]:
    """The LeRobot datasets that tasks come from, and the tasks of each."""
    roots: dict[Path, list[str]] = {}
    for one in sources:
        root = Path(one.source)
        if not (root / "meta" / "info.json").is_file():
            raise BadInput(
                f"{one.task.name!r} comes from {one.source}, which is no LeRobot dataset; only "
                "LeRobot datasets get subtask columns"
            )
        roots.setdefault(root, []).append(one.task.name)
    return roots


def _free(out: Path) -> Path:
    """The folder itself, or the next one with a number: nothing is ever overwritten."""
    found, number = out, 2
    while found.exists():
        found = out.with_name(f"{out.name}-{number}")
        number += 1
    return found
