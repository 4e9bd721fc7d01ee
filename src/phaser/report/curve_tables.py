"""The curve over budgets as tables: success by budget, and the contrasts of methods."""

from __future__ import annotations

from phaser.evaluation.comparison import Estimate, PairedDifference
from phaser.report.curve import Curve
from phaser.report.settled import smallest_gap, verdict
from phaser.report.tables import difference_cell, markdown

Rows = list[tuple[str, ...]]


def success_rows(curve: Curve) -> Rows:
    """Heading and rows: success of every method at every budget, with its interval."""
    rows = [("success %, by " + curve.unit, *(f"{one.amount:,}" for one in curve.budgets))]
    for method, found in curve.methods.items():
        known = {point.budget: _success(point.asr) for point in found}
        rows.append((method, *(known.get(one, "–") for one in curve.budgets)))
    for method, estimate in curve.bounds.items():
        rows.append((method, *(_success(estimate) for _ in curve.budgets)))
    return rows


def contrast_rows(curve: Curve) -> Rows:
    """Heading and rows: each paired difference in the mean over budgets, then at each of them."""
    rows: Rows = [
        ("method", "minus", curve.unit, "difference, points", "settled", "smallest gap found")
    ]
    for one in curve.contrasts:
        names = (one.method, one.baseline)
        averaged = "mean of " + ", ".join(f"{budget.amount:,}" for budget in one.budgets)
        rows.append((*names, averaged, *_cells(one.over_budgets)))
        for budget, found in one.at_budget.items():
            rows.append((*names, f"{budget.amount:,}", *_cells(found, corrected=True)))
    return rows


def remarks(curve: Curve) -> list[str]:
    """Says which budgets a mean leaves out because some streams lack them."""
    return [
        f"{one.method} minus {one.baseline}: the mean leaves out "
        f"{', '.join(map(str, one.left_out))}, which not all common streams have."
        for one in curve.contrasts
        if one.left_out
    ]


def as_markdown(curve: Curve) -> str:
    """All tables in markdown, and the sentence."""
    tables = [success_rows(curve), *([contrast_rows(curve)] if curve.contrasts else [])]
    parts = [markdown(rows) for rows in tables]
    return "\n\n".join([*parts, *remarks(curve), curve.sentence]) + "\n"


def _cells(found: PairedDifference, *, corrected: bool = False) -> tuple[str, ...]:
    return difference_cell(found), verdict(found, corrected=corrected), smallest_gap(found)


def _success(estimate: Estimate) -> str:
    interval = estimate.interval
    return f"{100 * estimate.mean:.1f} [{100 * interval.lower:.0f}, {100 * interval.upper:.0f}]"
