"""JSON on standard output, and the pages of finished cells."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from phaser.cli.streams import is_utf8

if TYPE_CHECKING:
    from phaser.report.curve import Curve
    from phaser.report.summary import Summary


@dataclass(frozen=True, kw_only=True, slots=True)
class Pages:
    """The written pages: one per budget and, where there are several budgets, one over all."""

    reports: Sequence[tuple[Path, Summary]]
    curves: Sequence[Curve] = ()
    overview: Path | None = None
    """The page of the curves."""


def write_pages(
    folders: Sequence[Path],
    out: Path,
    *,
    budget_tolerance: float = 0.01,
    margin: float | None = None,
    contrasts: Sequence[tuple[str, str]] = (),
) -> Pages:
    """One page per budget, in frames or bytes; methods without memory are in all of them.

    Where budgets differ in size, `out` itself shows retention against memory.

    contrasts: methods to compare, each with another; none for all with the usual baselines.
    """
    from phaser.core.files import write_text
    from phaser.evaluation.equivalence import MARGIN
    from phaser.report import curve_page
    from phaser.report.by_budget import folders_by_budget, runs_by_budget
    from phaser.report.contrasts import Contrasts
    from phaser.report.curve import curves
    from phaser.report.page import write_report

    within, asked = margin or MARGIN, Contrasts(tuple(contrasts))

    def report(cells: Sequence[Path], page: Path) -> tuple[Path, Summary]:
        return page, write_report(
            cells, page, budget_tolerance=budget_tolerance, margin=within, contrasts=asked
        )

    given = folders_by_budget(folders)
    if len(given) <= 1:
        return Pages(reports=[report(folders, out)])
    pages = {budget: out.with_stem(f"{out.stem}-b{budget.slug}") for budget in given}
    reports = [report(cells, pages[budget]) for budget, cells in given.items()]
    found = curves(runs_by_budget(folders), margin=within, contrasts=asked)
    if not found:
        return Pages(reports=reports)
    write_text(out, curve_page.render(found, {one: page.name for one, page in pages.items()}))
    return Pages(reports=reports, curves=found, overview=out)


def show(pages: Pages, *, as_json: bool, **more: Any) -> None:
    """Table, sentence and path of every page; or one JSON object."""
    if as_json:
        print_json({**more, **pages_json(pages)})
        return
    from phaser.report import curve_tables
    from phaser.report.tables import as_text

    for page, summary in pages.reports:
        print(f"\n{as_text(summary)}\n\n{fill(summary.answer, 80)}\n\nreport: {page.resolve()}")
    for curve in pages.curves:
        print(f"\n{curve_tables.as_text(curve)}")
    if pages.overview is not None:
        print(f"\nreport over budgets: {pages.overview.resolve()}")
    sys.stdout.flush()


def pages_json(pages: Pages) -> dict[str, Any]:
    """What the pages say, as JSON."""
    reports = [{"page": str(page), **summary_json(one)} for page, one in pages.reports]
    if len(reports) == 1:
        return reports[0]
    return {"curves": [curve_json(curve) for curve in pages.curves], "reports": reports}


def curve_json(curve: Curve) -> dict[str, Any]:
    """Budgets by their words; all rates are fractions."""
    return {
        "sentence": curve.sentence,
        "budgets": [str(budget) for budget in curve.budgets],
        "methods": {
            method: [{**asdict(point), "budget": str(point.budget)} for point in found]
            for method, found in curve.methods.items()
        },
        "bounds": {method: asdict(estimate) for method, estimate in curve.bounds.items()},
        "contrasts": [
            {
                "method": one.method,
                "baseline": one.baseline,
                "budgets": [str(budget) for budget in one.budgets],
                "left_out": [str(budget) for budget in one.left_out],
                "over_budgets": asdict(one.over_budgets),
                "at_budget": {
                    str(budget): asdict(found) for budget, found in one.at_budget.items()
                },
            }
            for one in curve.contrasts
        ],
    }


def summary_json(summary: Summary) -> dict[str, Any]:
    return {
        "answer": summary.answer,
        "sentence": summary.sentence,
        "num_tasks": summary.num_tasks,
        "complete": summary.complete,
        "measure": summary.measure,
        "unmeasured_tasks": list(summary.unmeasured),
        "methods": [asdict(row) for row in summary.rows],
        "overhead": [asdict(row) for row in summary.overhead],
        "by_task": [
            {"method": method, "baseline": baseline, "tasks": [asdict(one) for one in found]}
            for (method, baseline), found in summary.by_task.items()
        ],
    }


def print_json(value: Any) -> None:
    """On a terminal that cannot show every letter, with escapes instead of them."""
    plain = not is_utf8(sys.stdout)
    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=plain), flush=True)
