"""`phaser demo`: ten robot tasks in a row with three methods, and what each one forgot."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from phaser.cli.arguments import Parser, add_record, processes
from phaser.cli.execution import traces_in
from phaser.cli.grid import run_cells
from phaser.cli.output import show, write_pages
from phaser.cli.recordings import require_suite
from phaser.core.files import require_writable
from phaser.core.processes import require_one_process
from phaser.experiments.axes import Axes
from phaser.experiments.presets import preset
from phaser.experiments.run import Run
from phaser.memory.budget import Budget
from phaser.methods.table import METHODS

PRESET = "metaworld-quick"
BUDGET = 20
METHOD_NAMES = ("sequential", "er", "phaser")
"""The lower bound first: what is forgotten without a memory is the first thing to see."""


def execute(arguments: Sequence[str]) -> int:
    require_one_process("demo")
    parser = Parser("demo", "Learn ten robot tasks in a row with three methods, and compare them.")
    parser.add_argument("--out", type=Path, default=Path("runs", "demo"), help="default: runs/demo")
    parser.add_argument("--workers", type=processes, default=2, help="processes (default: 2)")
    add_record(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    chosen = parser.parse(arguments)
    base = preset(PRESET)
    require_suite(base)
    require_writable(chosen.out)
    stream = sys.stderr if chosen.json else sys.stdout
    print(introduction(base, chosen.out), file=stream, flush=True)
    cells = Axes(methods=METHOD_NAMES, budgets=(Budget.per_task(BUDGET),)).cells(base)
    folders = run_cells(
        cells,
        chosen.out,
        num_workers=chosen.workers,
        to_stderr=chosen.json,
        traces=traces_in(chosen, base),
    )
    pages = write_pages(folders, chosen.out / "report.html")
    show(pages, as_json=chosen.json, folder=str(chosen.out))
    return 0


def introduction(base: Run, out: Path) -> str:
    """What is about to happen, in plain sentences."""
    tasks = base.suite.tasks()
    new = len(base.suite.missing())
    recordings = (
        f"Scripted experts are recorded for {new} of the {len(tasks)} tasks, {len(tasks) - new} "
        "are there already. Learning starts with the first recording."
        if new
        else f"The recordings of all {len(tasks)} tasks are there already and are reused."
    )
    width = max(map(len, METHOD_NAMES))
    methods = [f"  {name.ljust(width)}  {METHODS[name].summary}" for name in METHOD_NAMES]
    return "\n".join(
        [
            f"A small robot policy that sees two cameras learns {len(tasks)} Meta-World tasks, one "
            "after the other.",
            "After each task it is tried on the new task and on the earlier ones. Three methods:",
            *methods,
            f"The last two keep {BUDGET} frames of each task. {recordings}",
            f"Recordings: {base.suite.cache}. Results: {out}.",
            "",
        ]
    )
