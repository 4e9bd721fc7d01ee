"""`phaser watch`: follow a run or a grid from another terminal, by its files alone."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from phaser.cli.arguments import Parser
from phaser.cli.output import print_json
from phaser.cli.text_table import columns, duration, printable
from phaser.core.errors import BadInput

if TYPE_CHECKING:
    from phaser.experiments.standing import Standing

EVERY_S = 2.0
WIDTH, NAME = 80, 32
MAX_ROWS = 40
"""Rows on a screen; of larger grids those that run are shown."""
ORDER = ("failed", "running", "silent", "begun", "finished")
FAILED = 1


def execute(arguments: Sequence[str]) -> int:
    parser = Parser(
        "watch",
        "Follow a run or a grid from another terminal. Ctrl-C leaves; the run goes on.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a run, a grid, or runs/")
    parser.add_argument("--once", action="store_true", help="say how it stands, and leave")
    parser.add_argument("--json", action="store_true", help="print one JSON object, and leave")
    chosen = parser.parse(arguments)
    if not chosen.folder.is_dir():
        raise BadInput(f"{chosen.folder} is no folder; expected that of a run or a grid")
    if chosen.json:
        cells = look(chosen.folder)
        waiting = not_begun(chosen.folder, cells)
        print_json({"cells": [asdict(cell) for cell in cells], "not_begun": waiting})
        return 0
    if chosen.once or not sys.stdout.isatty():
        cells = look(chosen.folder)
        print("\n".join(lines(cells, not_begun(chosen.folder, cells))))
        return 0
    return _follow(chosen.folder)


def look(folder: Path, known: Sequence[Standing] = ()) -> list[Standing]:
    """Where all cells stand; those that were finished before are not read again."""
    # Imported here, as below: help reads no runs.
    from phaser.experiments.standing import cell_folders, standing

    done = {cell.name: cell for cell in known if cell.state == "finished"}
    return [done.get(path.name) or standing(path) for path in cell_folders(folder)]


def not_begun(folder: Path, cells: Sequence[Standing]) -> int:
    """Cells of the folder's grid that have no folder yet."""
    from phaser.experiments.grid_file import GRID, read_grid

    if not (folder / GRID).is_file():
        return 0
    begun = {cell.name for cell in cells}
    return sum(cell.name not in begun for cell in read_grid(folder / GRID).cells())


def lines(cells: Sequence[Standing], waiting: int, *, rows: int = MAX_ROWS) -> list[str]:
    """A row per cell, at most so many, and a sum; none longer than a terminal is wide."""
    shown = sorted(cells, key=lambda cell: ORDER.index(cell.state))[:rows]
    found = [["cell", "state", "tasks", "now", "loss", "solved"]]
    found += [list(_row(cell)) for cell in shown]
    table = [line[:WIDTH] for line in columns(found, right=(4, 5))]
    hidden = len(cells) - len(shown)
    more = [f"and {hidden} more, further than these"] if hidden else []
    return [*table, *more, *_causes(shown)[:rows], "", _sum(cells, waiting)]


def _row(cell: Standing) -> Iterator[str]:
    name = printable(cell.name)
    # Methods are told apart by the beginning of a name, seeds and axes by its end.
    yield name if len(name) <= NAME else f"{name[: NAME // 3]}…{name[1 - NAME + NAME // 3 :]}"
    yield cell.state if cell.state != "silent" else f"silent {duration(cell.quiet_s or 0)}"
    yield f"{cell.tasks_learnt}/{cell.num_tasks}"
    yield cell.doing[:13]
    yield "" if cell.loss is None else f"{cell.loss:.3f}"
    yield f"{cell.solved}/{cell.tried}" if cell.tried else ""


def _causes(cells: Sequence[Standing]) -> list[str]:
    failed = [cell for cell in cells if cell.message]
    return [f"{cell.name}: {printable(cell.message)}"[:WIDTH] for cell in failed]


def _sum(cells: Sequence[Standing], waiting: int) -> str:
    counts = Counter(cell.state for cell in cells)
    parts = [f"{counts[state]} {state}" for state in ORDER if counts[state]]
    if waiting:
        parts.append(f"{waiting} not begun")
    return f"{len(cells) + waiting} cells: {', '.join(parts)}"


def _follow(folder: Path) -> int:
    """Draw anew every few seconds until every cell has ended."""
    from rich.live import Live
    from rich.text import Text

    cells: list[Standing] = []
    # On the screen at once: what reads runs takes a moment to load.
    first = Text(f"Reading {folder}.")
    with suppress(KeyboardInterrupt), Live(first, refresh_per_second=4) as live:
        while True:
            cells = look(folder, cells)
            waiting = not_begun(folder, cells)
            # A row per cell and one per failure, their head, a sum and what is hidden.
            rows = max(1, (live.console.height - 6) // (2 if _causes(cells) else 1))
            text = "\n".join(lines(cells, waiting, rows=min(rows, MAX_ROWS)))
            live.update(Text(text, no_wrap=True, overflow="crop"), refresh=True)
            if not waiting and all(cell.state in ("finished", "failed") for cell in cells):
                return FAILED if any(cell.state == "failed" for cell in cells) else 0
            time.sleep(EVERY_S)
    print("The run goes on.")
    return 0
