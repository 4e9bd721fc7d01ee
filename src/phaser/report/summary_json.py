"""What a report says, as JSON; all rates are fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from phaser.report.curve import Curve
from phaser.report.summary import Summary


def curves_json(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """One object per kind of budget."""
    return [curve_json(curve) for curve in curves]


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
