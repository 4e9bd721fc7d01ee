"""JSON on standard output, and the pages of finished cells."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from phaser.cli.streams import is_utf8

if TYPE_CHECKING:
    from phaser.report.curve import Curve
    from phaser.report.source import Source
    from phaser.report.summary import Summary


@dataclass(frozen=True, kw_only=True, slots=True)
class Pages:
    """The written pages: one per budget and, where there are several budgets, one over all."""

    reports: Sequence[tuple[Path, Summary]]
    sources: Sequence[Source]
    """The runs of each report, and how they were compared."""
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
    from phaser.report.by_budget import folders_by_budget
    from phaser.report.contrasts import Contrasts
    from phaser.report.page import write_report
    from phaser.report.source import Source

    within, asked = margin or MARGIN, Contrasts(tuple(contrasts))

    def source(cells: Sequence[Path]) -> Source:
        return Source(
            runs=tuple(cells), budget_tolerance=budget_tolerance, margin=within, contrasts=asked
        )

    def report(cells: Sequence[Path], page: Path) -> tuple[Path, Summary]:
        return page, write_report(
            cells, page, budget_tolerance=budget_tolerance, margin=within, contrasts=asked
        )

    given = folders_by_budget(folders)
    if len(given) <= 1:
        return Pages(reports=[report(folders, out)], sources=[source(folders)])
    pages = curve_page.pages_by_budget(out, given)
    reports = [report(cells, pages[budget]) for budget, cells in given.items()]
    sources = [source(cells) for cells in given.values()]
    everything = replace(source(folders), over_budgets=True)
    found = curve_page.curves_of(everything)
    if not found:
        return Pages(reports=reports, sources=sources)
    write_text(out, curve_page.page_of(everything, out, found))
    return Pages(reports=reports, sources=sources, curves=found, overview=out)


def show(pages: Pages, *, as_json: bool, **more: Any) -> None:
    """Table, sentence and path of every page; or one JSON object."""
    if as_json:
        print_json({**more, **pages_json(pages)})
        return
    from phaser.report import curve_text
    from phaser.report.tables import as_text

    for page, summary in pages.reports:
        print(f"\n{as_text(summary)}\n\n{fill(summary.answer, 80)}\n\nreport: {page.resolve()}")
    for curve in pages.curves:
        print(f"\n{curve_text.as_text(curve)}")
    if pages.overview is not None:
        print(f"\nreport over budgets: {pages.overview.resolve()}")
    sys.stdout.flush()


def pages_json(pages: Pages) -> dict[str, Any]:
    """All that the pages say, and which runs they are from."""
    from phaser.report.summary_json import curves_json, summary_json

    reports = [
        {"page": str(page), "source": source.told(page), **summary_json(one)}
        for (page, one), source in zip(pages.reports, pages.sources, strict=True)
    ]
    if len(reports) == 1:
        return reports[0]
    found = {"curves": curves_json(pages.curves), "reports": reports}
    if pages.overview is None:
        return found
    runs = dict.fromkeys(run for source in pages.sources for run in source.runs)
    everything = replace(pages.sources[0], runs=tuple(runs), over_budgets=True)
    return {"page": str(pages.overview), "source": everything.told(pages.overview), **found}


def print_json(value: Any) -> None:
    """On a terminal that cannot show every letter, with escapes instead of them."""
    plain = not is_utf8(sys.stdout)
    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=plain), flush=True)
