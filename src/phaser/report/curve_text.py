"""The curve over budgets for a terminal of 80 columns: success by budget, then each contrast."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from phaser.report.curve import Contrast, Curve
from phaser.report.curve_tables import remarks, success_rows
from phaser.report.settled import by_verdict, verdict
from phaser.report.tables import NARROW_HEADINGS, aligned, narrow_cells
from phaser.report.wording import counted

WIDTH = 80
MEAN = "mean"


def as_text(curve: Curve) -> str:
    """All tables, and the sentence."""
    parts = [_success(curve), *(_contrast(one, curve.unit) for one in curve.contrasts)]
    return "\n\n".join([*parts, *(fill(one, WIDTH) for one in (*remarks(curve), curve.sentence))])


def _success(curve: Curve) -> str:
    """Side by side as many budgets as fit, the others below them."""
    (title, *amounts), *rows = success_rows(curve)
    columns = [[amount, *(row[place] for row in rows)] for place, amount in enumerate(amounts, 1)]
    names = ["method", *(row[0] for row in rows)]
    blocks, shown = [], 0
    while shown < len(columns):
        count = _fitting(names, columns[shown:])
        blocks.append(aligned(list(zip(names, *columns[shown : shown + count], strict=True))))
        shown += count
    return "\n\n".join([title, *blocks])


def _fitting(names: Sequence[str], columns: Sequence[Sequence[str]]) -> int:
    """How many columns fit beside the names; one at least."""
    used, count = max(map(len, names)), 0
    for column in columns:
        used += 2 + max(map(len, column))
        if used > WIDTH:
            break
        count += 1
    return max(count, 1)


def _contrast(one: Contrast, unit: str) -> str:
    amounts = {f"{budget.amount:,}": found for budget, found in one.at_budget.items()}
    averaged = ", ".join(f"{budget.amount:,}" for budget in one.budgets)
    seeds = counted(one.over_budgets.num_seeds, "seed")
    title = f"{one.method} minus {one.baseline}, points, {seeds}; mean of {averaged} {unit}"
    rows = [
        (unit, *NARROW_HEADINGS),
        (MEAN, *narrow_cells(one.over_budgets)),
        *((amount, *narrow_cells(found)) for amount, found in amounts.items()),
    ]
    verdicts = {MEAN: verdict(one.over_budgets)} | {
        amount: verdict(found, corrected=True) for amount, found in amounts.items()
    }
    return "\n".join([fill(title, WIDTH), "", aligned(rows), by_verdict(verdicts)])
