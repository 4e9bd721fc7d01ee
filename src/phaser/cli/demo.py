"""`phaser demo`: robot tasks in a row, without and with a memory, and what was forgotten."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from phaser.cli.arguments import Parser, add_record, add_verbose, processes
from phaser.cli.output import show, write_pages
from phaser.cli.time_left import on_workers, quiet_seconds
from phaser.core.errors import BadInput
from phaser.core.files import require_writable
from phaser.core.processes import require_one_process
from phaser.experiments.presets import preset

if TYPE_CHECKING:
    from phaser.experiments.run import Run

PRESET, QUICK = "metaworld-quick", "metaworld-first"
METHOD_NAMES = ("sequential", "phaser")
"""One stream shows that a memory repairs forgetting; it cannot tell ways of choosing frames apart,
so there are two methods and no third."""
FRAMES = 100
"""Frames kept per task; stored as AVIF they take the bytes of eight raw ones."""
FIRST_WORDS = "Looking at what is there already."


def execute(arguments: Sequence[str]) -> int:
    require_one_process("demo")
    chosen = _parser().parse(arguments)
    if chosen.quick and chosen.preset:
        raise BadInput("demo: --quick is a preset of its own; leave --preset out")
    stream = sys.stderr if chosen.json else sys.stdout
    # A terminal is never blank while this is imported; elsewhere bad input leaves one line alone.
    if stream.isatty():
        print(FIRST_WORDS, file=stream, flush=True)
    # Imported here and below: help needs none of it.
    from phaser.cli.recordings import require_suite

    base = preset(chosen.preset or (QUICK if chosen.quick else PRESET))
    require_suite(base)
    out: Path = chosen.out or Path("runs", "demo-quick" if chosen.quick else "demo")
    require_writable(out)
    if not stream.isatty():
        print(FIRST_WORDS, file=stream, flush=True)
    from phaser.cli.demo_words import introduction, lesson, what_next
    from phaser.cli.execution import traces_in
    from phaser.cli.grid import run_cells
    from phaser.experiments.axes import Axes
    from phaser.memory.budget import Budget

    cells = Axes(methods=METHOD_NAMES, budgets=(Budget.per_task(chosen.budget),)).cells(base)
    free = shutil.disk_usage(base.suite.cache).free
    minutes = expected_seconds(cells, num_workers=chosen.workers) / 60
    print(introduction(cells, out, minutes=minutes, free_bytes=free), file=stream, flush=True)
    folders = run_cells(
        cells,
        out,
        num_workers=chosen.workers,
        to_stderr=chosen.json,
        traces=traces_in(chosen, base),
        verbose=chosen.verbose,
    )
    print("Writing the page.", file=stream, flush=True)
    pages = write_pages(folders, out / "report.html")
    if chosen.json:
        show(pages, as_json=True, folder=str(out))
        return 0
    print(lesson(folders))
    print(what_next(pages.reports[0][0], base))
    return 0


def expected_seconds(cells: Sequence[Run], *, num_workers: int) -> float:
    """What a quiet machine needs for recordings and cells."""
    from phaser.cli.cell_progress import work_of

    missing = cells[0].suite.missing()
    demos = sum(cells[0].suite.demos_to_record(task) or 0 for task in missing)
    work = [quiet_seconds(work_of(cell)) for cell in cells]
    return quiet_seconds({"record": demos}) / num_workers + on_workers(work, num_workers)


def _parser() -> Parser:
    parser = Parser(
        "demo", "Learn robot tasks in a row, without and with a memory, and see what is forgotten."
    )
    parser.add_argument("--quick", action="store_true", help="four tasks instead of ten")
    parser.add_argument("--preset", metavar="NAME", help="another stream; see phaser presets")
    parser.add_argument(
        "--budget",
        type=processes,
        default=FRAMES,
        metavar="N",
        help=f"frames per task (default: {FRAMES})",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: runs/demo")
    parser.add_argument("--workers", type=processes, default=2, help="processes (default: 2)")
    add_record(parser)
    add_verbose(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    return parser
