"""JSON on standard output, and the pages of finished cells."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phaser.cli.streams import is_utf8
from phaser.core.errors import BadInput
from phaser.memory.budget import Budget

if TYPE_CHECKING:
    from phaser.report.summary import Summary


def finished_folders(places: Sequence[Path]) -> list[Path]:
    """Cell folders that are finished, at or below each place."""
    found: list[Path] = []
    for place in places:
        here = sorted(done.parent for done in place.rglob("done.json"))
        if not here:
            raise BadInput(f"{place} holds no finished run; expected a folder with done.json in it")
        found += here
    return list(dict.fromkeys(found))


def _place(budget: Budget) -> tuple[int, int, int]:
    """Frames before bytes, what holds for a task before what holds for all of them."""
    units, pers = ("frames", "bytes"), ("task", "phase", "memory")
    return units.index(budget.unit), pers.index(budget.per), budget.amount


def write_pages(
    folders: Sequence[Path], out: Path, *, budget_tolerance: float = 0.01
) -> list[tuple[Path, Summary]]:
    """One page per budget, in frames or bytes; methods without memory are in all of them."""
    from phaser.report.fields import read_object
    from phaser.report.page import write_report
    from phaser.report.runs import read_budget

    budgets: dict[Budget | None, list[Path]] = {}
    for folder in folders:
        where = folder / "run.json"
        budgets.setdefault(read_budget(read_object(where), where), []).append(folder)
    without = budgets.pop(None, [])
    given = {budget: cells for budget, cells in budgets.items() if budget is not None}
    if len(given) <= 1:
        return [(out, write_report(folders, out, budget_tolerance=budget_tolerance))]
    pages = {
        out.with_stem(f"{out.stem}-b{budget.slug}"): given[budget]
        for budget in sorted(given, key=_place)
    }
    return [
        (page, write_report([*without, *cells], page, budget_tolerance=budget_tolerance))
        for page, cells in pages.items()
    ]


def show(pages: Sequence[tuple[Path, Summary]], *, as_json: bool, **more: Any) -> None:
    """Table, sentence and path of every page; or one JSON object."""
    if as_json:
        reports = [{"page": str(page), **summary_json(summary)} for page, summary in pages]
        print_json({**more, "reports": reports} if len(reports) > 1 else {**more, **reports[0]})
        return
    from phaser.report.tables import as_text

    for page, summary in pages:
        print(f"\n{as_text(summary)}\n\n{summary.sentence}\n\nreport: {page.resolve()}")
    sys.stdout.flush()


def summary_json(summary: Summary) -> dict[str, Any]:
    return {
        "sentence": summary.sentence,
        "num_tasks": summary.num_tasks,
        "complete": summary.complete,
        "measure": summary.measure,
        "unmeasured_tasks": list(summary.unmeasured),
        "methods": [asdict(row) for row in summary.rows],
        "overhead": [asdict(row) for row in summary.overhead],
    }


def print_json(value: Any) -> None:
    """On a terminal that cannot show every letter, with escapes instead of them."""
    plain = not is_utf8(sys.stdout)
    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=plain), flush=True)
