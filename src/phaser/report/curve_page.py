"""The page over several budgets: retention against memory, and links to the page of each budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from phaser.memory.budget import Budget
from phaser.report import curve_figure, curve_tables, provenance, settled
from phaser.report.curve import Curve
from phaser.report.sections import document, section
from phaser.report.svg import element

EXPLANATION = (
    "First the mean over budgets of the paired difference, stream by stream, with p from flipping "
    "the signs of the streams' means, in brackets corrected (Holm) for how many methods are "
    "compared with the same one. Below it each budget, where p is corrected for the number of "
    "budgets and only the corrected one shows a difference. "
)


def render(curves: Sequence[Curve], pages: Mapping[Budget, str]) -> str:
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
    return document("What was kept, by memory", body)


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
