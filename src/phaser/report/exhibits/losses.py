"""Held-out losses by phase: the zero-budget control, starvation by length, lengths themselves."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, pstdev

from phaser.evaluation.metrics import mean, mean_of_known
from phaser.evaluation.phase_losses import PhaseLoss
from phaser.report.exhibits.exhibit import Exhibit, Panel, Row, Series
from phaser.report.exhibits.variants import (
    Runs,
    asr_percent,
    at_one_budget,
    grouped,
    methods_of,
    phase_source,
    setting,
    usual,
)

LENGTHS = ((0.0, 0.1), (0.1, 0.18), (0.18, 0.3), (0.3, 0.5), (0.5, 1.01))
"""Shares of a task that phases are sorted into."""


def zero_budget(runs: Runs) -> Exhibit | None:
    """The control whose emptied phase keeps nothing, beside er and phaser."""
    emptied = _emptied(runs)
    if emptied is None:
        return None
    alike = at_one_budget(usual(runs))
    shown = [run for run in alike if run.method in ("er", "phaser") or _zero(run) is not None]
    rows = [
        (
            method,
            asr_percent(group),
            *_spread(group, emptied, True),
            *_spread(group, emptied, False),
        )
        for method in methods_of(shown)
        for group in [[run for run in shown if run.method == method]]
    ]
    return Exhibit(
        name="zero-budget",
        caption=f"Phase {emptied + 1} of every task keeps nothing, its frames go to its siblings: "
        "success, and held-out loss of that phase and of its siblings after the last task.",
        headings=("method", "ASR", "emptied loss", "± sd", "siblings' loss", "± sd "),
        rows=tuple(rows),
    )


def zero_budget_tasks(runs: Runs) -> Exhibit | None:
    """The control task by task: its success, and the loss of the phase that keeps nothing."""
    emptied = _emptied(runs)
    group = [run for run in at_one_budget(usual(runs)) if _zero(run) is not None]
    if emptied is None:
        return None
    rows: list[Row] = []
    for task in group[0].tasks:
        found = [one for run in group for one in run.phases if one.task == task]
        own = [one for one in found if one.phase_index == emptied]
        rates = [run.matrix.final(task).rate for run in group if run.metrics is not None]
        rows.append(
            (
                task,
                own[0].phase if own else None,
                100 * mean(rates) if rates else None,
                mean_of_known([one.final_loss for one in own]),
            )
        )
    return Exhibit(
        name="zero-budget-tasks",
        caption="The zero-budget control, task by task.",
        headings=("task", "emptied phase", "success", "its loss"),
        rows=tuple(rows),
    )


def loss_by_length(runs: Runs) -> Exhibit | None:
    """Starvation: held-out loss at the end against the length of a phase."""
    shown = [run for run in at_one_budget(usual(runs)) if run.phases]
    if not shown:
        return None
    rows: list[Row] = []
    scatter, binned = [], []
    for method in methods_of(shown):
        found = [one for run in shown if run.method == method for one in run.phases]
        scatter.append(
            Series(
                label=method,
                xs=[one.share for one in found],
                ys=[one.final_loss for one in found],
                kind="points",
            )
        )
        places, means, low, high = [], [], [], []
        for start, stop in LENGTHS:
            within = [one.final_loss for one in found if start <= one.share < stop]
            if within:
                middle, spread = mean(within), pstdev(within)
                told = spread if len(within) > 1 else None
                rows.append((method, f"{start:g}–{min(stop, 1):g}", len(within), middle, told))
                places.append((start + min(stop, 1.0)) / 2)
                means.append(middle)
                low.append(middle - spread)
                high.append(middle + spread)
        binned.append(Series(label=method, xs=places, ys=means, low=low, high=high))
    return Exhibit(
        name="loss-by-length",
        caption="Held-out action loss after the last task, by the share of its task that a phase "
        "takes; mean and standard deviation over phases and seeds.",
        headings=("method", "share of task", "phases", "loss", "± sd"),
        rows=tuple(rows),
        panels=(
            Panel(title="every phase", x="share of its task", y="loss", series=tuple(scatter)),
            Panel(title="by length", x="share of its task", y="loss", series=tuple(binned)),
        ),
    )


def phase_lengths(runs: Runs) -> Exhibit | None:
    """How unequal phases are, and what equal shares give the shortest one."""
    known = grouped(
        [run for run in runs if run.phases], lambda run: (run.preset, phase_source(run))
    )
    if not known:
        return None
    rows = tuple(
        (preset, source, *_lengths(group[0].phases)) for (preset, source), group in known.items()
    )
    return Exhibit(
        name="phase-lengths",
        caption="Shares of their task that phases take; boost: the share that equal buckets give "
        "the shortest phase, over the share it has.",
        headings=(
            *("preset", "phases", "tasks", "K", "mean", "sd", "cv"),
            *("median max/min", "worst max/min", "boost"),
        ),
        rows=rows,
    )


def _lengths(phases: Sequence[PhaseLoss]) -> tuple[int | float, ...]:
    by_task: dict[str, list[float]] = {}
    for one in phases:
        by_task.setdefault(one.task, []).append(one.share)
    shares = [share for group in by_task.values() for share in group]
    ratios = [max(group) / max(min(group), 1e-9) for group in by_task.values()]
    middle, spread = mean(shares), pstdev(shares)
    boost = len(by_task) / len(shares) / max(min(shares), 1e-9)
    counts = (len(by_task), len(shares))
    return (*counts, middle, spread, spread / middle, median(ratios), max(ratios), boost)


def _zero(run: object) -> int | None:
    found = setting(run, "method", "keep", "zero_phase")  # type: ignore[arg-type]
    return found if isinstance(found, int) else None


def _emptied(runs: Runs) -> int | None:
    """The phase that some run leaves empty."""
    return next((found for run in runs if (found := _zero(run)) is not None), None)


def _spread(runs: Runs, emptied: int, own: bool) -> tuple[float | None, float | None]:
    losses = [
        one.final_loss for run in runs for one in run.phases if (one.phase_index == emptied) == own
    ]
    return (mean(losses), pstdev(losses)) if losses else (None, None)
