"""What `phaser segment` says: progress on standard error, then a table or JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from phaser.cli.output import print_json
from phaser.cli.text_table import columns, printable
from phaser.core.demonstration import Task
from phaser.demos.source_tasks import SourceTask
from phaser.phases.verify import TaskPhases
from phaser.phases.vlm import Spending

HEADER = (
    *("task", "demos", "frames", "phases", "by events"),
    *("of the most typical demonstration", "found by"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Segmented:
    """One task with its phases, and where its picture is."""

    task: Task
    source: str
    phases: TaskPhases
    plot: Path | None = None

    def remarks(self) -> tuple[str, ...]:
        """Sentences that a user should read about the demonstrations of this task."""
        return tuple(f"{self.task.name}: {one}" for one in self.phases.remarks)

    def carried(self) -> tuple[int, int]:
        """How many boundaries were carried to the other demonstrations, how many by events."""
        others = [
            source
            for position, sources in enumerate(self.phases.boundary_sources)
            if position != self.phases.representative
            for source in sources
        ]
        return len(others), others.count("event")


class Progress:
    """A bar over demonstrations on a terminal, one line per task in a pipe; standard error."""

    def __init__(self, num_demos: int, num_tasks: int) -> None:
        # Imported here: help and mistakes show no bars.
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self._console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
        self._num_tasks, self._num_finished, self._name = num_tasks, 0, ""
        self._num_recorded = self._num_missing = 0
        layout = (
            BarColumn(24),
            TextColumn("{task.completed}/{task.total} demonstrations"),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        has_bar = self._console.is_terminal
        self._bars = Bars(*layout, console=self._console, transient=True, disable=not has_bar)
        self._bar = self._bars.add_task("", total=num_demos)

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def say(self, line: str) -> None:
        self._console.print(printable(line), markup=False)

    def starting(self, source: SourceTask) -> None:
        self._name = printable(source.task.name)
        self._num_recorded, self._num_missing = 0, source.num_missing
        if source.num_missing:
            self.say(
                f"{self._name}: its scripted expert is recorded first "
                f"({source.num_missing} demonstrations)"
            )
        self._bars.update(self._bar, description=self._name)

    def recorded(self) -> None:
        """One more demonstration of those that were missing."""
        self._num_recorded += 1
        at = f"{self._name}: recorded {self._num_recorded} of {self._num_missing}"
        self._bars.update(self._bar, description=at)
        if self._num_recorded >= self._num_missing:
            self._bars.update(self._bar, description=self._name)

    def read(self) -> None:
        self._bars.advance(self._bar)

    def finished(self, result: Segmented) -> None:
        self._num_finished += 1
        if self._bars.disable or result.phases.flag:
            at = f"{self._num_finished}/{self._num_tasks}"
            phases = len(result.phases.segmentations[0].phases)
            flag = f" · {result.phases.flag}" if result.phases.flag else ""
            self.say(f"{at} {self._name}: {phases} phase{'s' if phases > 1 else ''}{flag}")


def show(
    results: Sequence[Segmented],
    *,
    out: Path,
    remarks: Sequence[str],
    spending: Spending | None,
    as_json: bool,
    dataset: Path | None = None,
) -> None:
    """The summary on standard output."""
    if as_json:
        print_json(
            {
                "file": str(out),
                "tasks": [_entry(one) for one in results],
                "num_flagged": sum(bool(one.phases.flag) for one in results),
                "remarks": list(remarks),
                "spending": asdict(spending) if spending else None,
                **({"dataset": str(dataset)} if dataset is not None else {}),
            }
        )
        return
    print("\n".join(columns([HEADER, *map(_row, results)], right=(1, 2, 3, 4))))
    print()
    if any(one.carried()[0] for one in results):
        print(
            "by events: boundaries of the other demonstrations that an event of their own placed,"
        )
        print("not the ratio of the most typical one")
    flagged = [one for one in results if one.phases.flag]
    for one in flagged:
        print(printable(f"! {one.task.name}: {one.phases.flag}"))
    if flagged:
        print(f"! {len(flagged)} of {len(results)} tasks have phases from the action signal alone")
    if spending is not None:
        print(f"model: {spending.num_calls} requests, {spending.num_tokens} tokens")
    plots = [one.plot for one in results if one.plot is not None]
    if plots:
        print(f"plots: {len(plots)} in {plots[0].parent.resolve()}")
    if dataset is not None:
        print(f"dataset with them: {dataset.resolve()}")
    print(f"phases: {out.resolve()}", flush=True)


def file_names(tasks: Sequence[str]) -> list[str]:
    """One harmless file name per task, all different whatever the tasks are called."""
    names: list[str] = []
    taken: set[str] = set()
    for task in tasks:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", task).strip("-")[:80] or "task"
        name, number = stem, 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.lower())
        names.append(name)
    return names


def _row(one: Segmented) -> tuple[str, ...]:
    phases = one.phases
    typical = phases.segmentations[phases.representative]
    shares = [f"{k.label} {100 * len(k) / typical.num_frames:.0f} %" for k in typical.phases]
    frames = median(cut.num_frames for cut in phases.segmentations)
    num_carried, by_events = one.carried()
    return (
        one.task.name,
        str(len(phases.segmentations)),
        f"{frames:.0f}",
        str(len(typical.phases)),
        f"{100 * by_events / num_carried:.0f} %" if num_carried else "–",
        " · ".join(shares),
        phases.source + (" !" if phases.flag else ""),
    )


def _entry(one: Segmented) -> dict[str, Any]:
    stages = one.phases.stages(one.task.instruction)
    num_carried, by_events = one.carried()
    return {
        "task": one.task.name,
        "instruction": one.task.instruction,
        "from": one.source,
        "source": one.phases.source,
        "flag": one.phases.flag,
        "remarks": list(one.phases.remarks),
        "num_demos": len(one.phases.segmentations),
        "representative": one.phases.demos[one.phases.representative],
        "phases": [asdict(phase) for phase in stages.phases],
        "carried_boundaries": {"event": by_events, "ratio": num_carried - by_events},
        "plot": None if one.plot is None else str(one.plot),
    }
