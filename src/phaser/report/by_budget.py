"""Runs by the budget they were given; methods without a memory belong to every budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from phaser.memory.budget import Budget
from phaser.report.fields import read_object
from phaser.report.runs import RunResult, read_budget, read_runs

Runs = tuple[RunResult, ...]


def folders_by_budget(folders: Sequence[Path]) -> dict[Budget, list[Path]]:
    """Run folders by budget, small ones first; empty where no run has one."""
    budgets: dict[Budget | None, list[Path]] = {}
    for folder in folders:
        where = folder / "run.json"
        budgets.setdefault(read_budget(read_object(where), where), []).append(folder)
    without = budgets.pop(None, [])
    given = {budget: cells for budget, cells in budgets.items() if budget is not None}
    return {budget: [*without, *given[budget]] for budget in sorted(given, key=_place)}


def runs_by_budget(folders: Sequence[Path]) -> dict[Budget, Runs]:
    """Read finished runs by budget, small ones first."""
    return {budget: read_runs(cells) for budget, cells in folders_by_budget(folders).items()}


def kind(budget: Budget) -> tuple[str, str]:
    """Frames or bytes, and of what: budgets of one kind are points of one curve."""
    return budget.unit, budget.per


def _place(budget: Budget) -> tuple[int, int, int]:
    """Frames before bytes, what holds for a task before what holds for all of them."""
    units, pers = ("frames", "bytes"), ("task", "phase", "memory")
    return units.index(budget.unit), pers.index(budget.per), budget.amount
