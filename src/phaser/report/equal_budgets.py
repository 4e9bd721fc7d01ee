"""Refuse to compare runs whose memories were not given, or do not hold, the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from phaser.core.errors import BudgetMismatch
from phaser.memory.budget import Budget
from phaser.memory.certificate import check_equal, check_total, check_within
from phaser.report.by_budget import kind
from phaser.report.runs import RunResult


def check_budgets(runs: Sequence[RunResult], tolerance: float) -> None:
    """Budgets must be of one size, memories within the tolerance; runs without memory are exempt.

    Frames are compared task by task, among runs that have the same tasks.
    """
    replaying = [run for run in runs if run.budget is not None]
    given = {run.budget: run.folder for run in replaying if run.budget is not None}
    if len(given) > 1 and (len({kind(budget) for budget in given}) > 1 or not _in_frames(given)):
        which = (f"{folder} {budget}" for budget, folder in given.items())
        raise BudgetMismatch(
            f"budgets of different kinds or sizes: {', '.join(which)}; compare runs that were "
            "given the same number of bytes, or frames"
        )
    of_stream: dict[frozenset[str], list[RunResult]] = {}
    for run in replaying:
        of_stream.setdefault(frozenset(run.tasks), []).append(run)
    for group in of_stream.values():
        _check(group, list(given), tolerance)


def _check(runs: Sequence[RunResult], given: Sequence[Budget], tolerance: float) -> None:
    held = {
        f"{run.method} (seed {run.seed})": {
            "frames_per_task": run.certificate.frames_per_task,
            "bytes_per_task": run.certificate.bytes_per_task,
            "total_frames": run.certificate.total_frames,
            "total_bytes": sum(run.certificate.bytes_per_task.values()),
        }
        for run in runs
    }
    for budget in given:
        if _in_frames(given):
            check_equal(held, tolerance)
        elif budget.is_total:
            check_total(held, budget.amount, budget.unit)
        else:
            check_within(held, budget.amount, runs[0].tasks)


def _in_frames(budgets: Iterable[Budget]) -> bool:
    return all(kind(budget) in (("frames", "task"), ("frames", "phase")) for budget in budgets)
