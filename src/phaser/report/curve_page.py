"""The page over several budgets: retention against memory, and links to the page of each budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from phaser.memory.budget import Budget
from phaser.report import curve_figure, curve_tables, provenance, settled
from phaser.report.by_budget import folders_by_budget, runs_by_budget
from phaser.report.curve import Curve
from phaser.report.curve import curves as curves_over
from phaser.report.sections import document, section
from phaser.report.source import Source
from phaser.report.svg import element

EXPLANATION = (
    "First the mean over budgets of the paired difference, stream by stream, with p from flipping "
    "the signs of the streams' means, in brackets corrected (Holm) for how many methods are "
    "compared with the same one. Below it each budget, where p is corrected for the number of "
    "budgets and only the corrected one shows a difference. "
)


def curves_of(source: Source) -> tuple[Curve, ...]:
    """The curves of the runs of a page."""
    runs = runs_by_budget(source.runs)
    return curves_over(runs, margin=source.margin, contrasts=source.contrasts)


def pages_by_budget(out: Path, budgets: Iterable[Budget]) -> dict[Budget, Path]:
    """Where the page of each budget is, beside the page over all of them."""
    return {budget: out.with_stem(f"{out.stem}-b{budget.slug}") for budget in budgets}


def page_of(source: Source, out: Path, curves: Sequence[Curve]) -> str:
    """The page with links to the page of each budget, and what it says of its runs."""
    pages = pages_by_budget(out, folders_by_budget(source.runs))
    names = {budget: page.name for budget, page in pages.items()}
    return render(curves, names, meta=source.meta(out))


def render(curves: Sequence[Curve], pages: Mapping[Budget, str], *, meta: str = "") -> str:
    """The page as text.

    pages: the file name of each budget's own page, beside this one.
    """
    sentences = " ".join(curve.sentence for curve in curves)
    links = ", ".join(
        element("a", escape(str(budget)), href=name) for budget, name in pages.items()
    )
    header = element(
        "header",
        element("p", "What was kept, by memory", class_="kicker")
        + element("h1", escape(sentences))
        + element("p", f"A page per budget: {links}.", class_="lead"),
    )
    body = header + "".join(_section(curve) for curve in curves)
    return document("What was kept, by memory", body, meta)


def _section(curve: Curve) -> str:
    bytes_held = curve_figure.by_bytes(curve) if curve.budgets[0].unit == "frames" else ""
    notes = "".join(element("p", escape(one)) for one in curve_tables.remarks(curve))
    return section(
        f"Retention against {curve.unit}",
        "Average success after the last task with its 95 % interval; dashed: methods without a "
        "memory.",
        curve_figure.by_budget(curve),
        _table(curve_tables.success_rows(curve)),
        element("h3", "The same against what the memories hold") + bytes_held if bytes_held else "",
        *(_contrasts(curve) if curve.contrasts else ()),
        notes,
    )


def _contrasts(curve: Curve) -> tuple[str, ...]:
    return (
        element("h3", "Paired differences over budgets"),
        element("p", escape(EXPLANATION + settled.EXPLANATION), class_="lead"),
        _table(curve_tables.contrast_rows(curve)),
    )


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    return provenance.table(rows[0], rows[1:], strong=("phaser",))
