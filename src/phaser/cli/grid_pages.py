"""What a grid says at its end: the pages of its finished cells, and its failures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from phaser.cli.early import early_of, for_terminal
from phaser.cli.output import pages_json, print_json, show, write_pages
from phaser.experiments.axes import in_a_name
from phaser.experiments.grid import CellsFailed
from phaser.experiments.run import Run


def write_and_show(
    cells: Sequence[Run],
    folders: Sequence[Path],
    out: Path,
    *,
    budget_tolerance: float,
    as_json: bool,
    stop_early: bool = False,
) -> None:
    """Pages of the finished cells: one set for each combination of orders and other axes.

    stop_early: say of every comparison whether it is decided.
    """
    shown = []
    for label, group in groups(cells, folders, out).items():
        page = out / (f"report-{label}.html" if label else "report.html")
        pages = write_pages(group, page, budget_tolerance=budget_tolerance)
        if as_json:
            shown.append((label, pages))
        else:
            if label:
                print(f"\n{label.replace(',', ', ')}:")
            show(pages, as_json=False)
            if stop_early:
                print(for_terminal(early_of(pages)["lines"]))
    if not as_json:
        return
    if [label for label, _ in shown] == [""]:
        early = early_of(shown[0][1]) if stop_early else {}
        show(shown[0][1], as_json=True, folder=str(out), **early)
    else:
        groups_json = [{"cells": label, **pages_json(pages)} for label, pages in shown]
        print_json({"folder": str(out), "groups": groups_json})


def groups(cells: Sequence[Run], folders: Sequence[Path], out: Path) -> dict[str, list[Path]]:
    """Finished folders that one page compares; cells that an axis leaves alone are in all."""
    there = set(folders)
    several = len({cell.suite.order for cell in cells if cell.seed == cells[0].seed}) > 1

    def label_of(cell: Run) -> str:
        order = [f"order={in_a_name(cell.suite.order)}"] if several else []
        return ",".join([*order, *([cell.label] if cell.label else [])])

    found: dict[str, list[Path]] = {}
    for cell in cells:
        if out / cell.name in there:
            found.setdefault(label_of(cell), []).append(out / cell.name)
    plain = {} if several else {"": found.pop("", [])}
    if not found:
        return {label: group for label, group in plain.items() if group}
    return {label: [*plain.get("", []), *group] for label, group in found.items()}


def say_failures(failed: CellsFailed) -> None:
    """One line per cell that failed, or the traceback of a bug, then how many they are."""
    for name, one in failed.failures.items():
        print(f"phaser: {name} failed: {one.traceback or one.message}", file=sys.stderr)
    total = len(failed.failures) + len(failed.finished)
    print(
        f"phaser: {len(failed.failures)} of {total} cells failed; the same command goes on with "
        "them",
        file=sys.stderr,
    )
