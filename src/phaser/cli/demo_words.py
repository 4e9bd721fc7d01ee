"""What `phaser demo` says before it starts, and what was learnt from it at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from phaser.cli.text_table import columns, counted, file_size
from phaser.experiments.run import Run
from phaser.methods.table import METHODS

if TYPE_CHECKING:
    from phaser.evaluation.matrix import Cell

WIDTH = 79
BYTES_PER_DEMO = 1.5e6
"""Recorded images and cached features of a demonstration of 90 steps with two cameras."""
RESULTS_BYTES = 30e6


def introduction(cells: Sequence[Run], out: Path, *, minutes: float, free_bytes: float) -> str:
    """What is about to happen, how long it takes and what it needs, in plain sentences."""
    suite, tasks = cells[0].suite, cells[0].suite.tasks()
    missing = suite.missing()
    demos = sum(suite.demos_to_record(task) or 0 for task in missing)
    needed = RESULTS_BYTES + BYTES_PER_DEMO * demos
    recordings = (
        f"Scripted experts show {len(missing)} of the {counted(len(tasks), 'task')} first."
        if missing
        else "The recordings of all tasks are there already."
    )
    budget = next(cell.budget for cell in cells if cell.budget is not None)
    width = max(len(cell.method_name) for cell in cells)
    names = [
        _wrapped(
            f"  {cell.method_name.ljust(width)}  {METHODS[cell.method_name].summary}",
            indent=width + 4,
        )
        for cell in cells
    ]
    about = f"{minutes:.0f} minutes" if minutes >= 1.5 else "a minute"
    return "\n".join(
        [
            _wrapped(
                f"A small robot policy that sees through cameras learns "
                f"{counted(len(tasks), 'task')}, one after the other: "
                f"{', '.join(task.name for task in tasks)}. "
                "After each it tries the new one and the earlier ones. Twice, with:"
            ),
            *names,
            _wrapped(f"The memory holds {budget}. {recordings}"),
            _wrapped(
                f"This takes about {about} on two quiet cores and {file_size(needed)} of disk "
                f"({file_size(free_bytes)} are free). Ctrl-C stops it; the same command goes on."
            ),
            f"Recordings: {suite.cache}",
            f"Results:    {out}",
            "",
        ]
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What one method could do when it had learnt each task, and at the end."""

    method: str
    learnt: tuple[int, int]
    """Solved and tried rollouts of tasks just learnt."""
    left: tuple[int, int]
    """Solved and tried rollouts of the earlier tasks after the last one."""


def kept_in(folder: Path) -> Kept:
    """Read a finished run."""
    from phaser.report.runs import read_run

    run = read_run(folder)
    cells, last = run.matrix.cells, run.tasks[-1]
    learnt = [cell for (after, task), cell in cells.items() if after == task]
    left = [cell for (after, task), cell in cells.items() if after == last != task]
    return Kept(method=run.method, learnt=_sum(learnt), left=_sum(left))


def lesson(folders: Sequence[Path]) -> str:
    """A table, what was learnt in one sentence, and what this cannot show."""
    without, with_memory = (kept_in(folder) for folder in folders)
    rows = [
        ["", "just after learning", "earlier tasks, at the end"],
        *(
            [f"{label}", _counted(kept.learnt), _counted(kept.left)]
            for label, kept in (
                ("no memory (sequential)", without),
                (f"memory ({with_memory.method})", with_memory),
            )
        ),
    ]
    return "\n".join(
        [
            "",
            *columns(rows),
            "",
            _wrapped(sentence(without, with_memory)),
            _wrapped(
                "One stream cannot tell ways of choosing what to remember apart (er, phaser and "
                "others), nor what a smaller format of the stored frames is worth: that takes "
                "many streams and is measured in docs/results.md."
            ),
        ]
    )


def sentence(without: Kept, with_memory: Kept) -> str:
    """What was learnt, for a person; claimed only beyond what chance explains."""
    from phaser.evaluation.intervals import newcombe

    gained = newcombe(with_memory.left, without.left)
    facts = (
        f"without a memory the robot still solves {_share(without.left)} of what it had learnt, "
        f"with one {_share(with_memory.left)}"
    )
    if gained.lower > 0:
        return (
            f"What was learnt: {facts}. Forgetting is real, and a few rehearsed frames repair "
            f"much of it: {100 * gained.lower:.0f} to {100 * gained.upper:.0f} points on these "
            "tasks (95 % interval over rollouts)."
        )
    return (
        f"What was learnt: {facts}; with so few rollouts that difference may be chance "
        f"({100 * gained.lower:+.0f} to {100 * gained.upper:+.0f} points)."
    )


def what_next(page: Path, base: Run) -> str:
    """Where the page is, and three commands to go on with."""
    task = base.suite.tasks()[0].name
    place = page.resolve()
    rows = [
        [f"  phaser segment {task} --plot plots", "see the phases of a task"],
        [f"  phaser run {base.preset} --method er-even", "another way to choose frames"],
        ["  phaser methods", "all ways, with a recommendation"],
    ]
    return "\n".join(["", "Open in a browser:", f"  {place}", "", "Next:", *columns(rows)])


def _sum(cells: Sequence[Cell]) -> tuple[int, int]:
    return sum(cell.successes for cell in cells), sum(cell.trials for cell in cells)


def _counted(tally: tuple[int, int]) -> str:
    return f"solved {tally[0]} of {tally[1]} ({_share(tally)})" if tally[1] else "not tried"


def _share(tally: tuple[int, int]) -> str:
    return f"{100 * tally[0] / tally[1]:.0f} %" if tally[1] else "nothing"


def _wrapped(text: str, *, indent: int = 0) -> str:
    return textwrap.fill(
        text, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False, drop_whitespace=True
    )
