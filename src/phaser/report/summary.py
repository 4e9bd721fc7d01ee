"""The result in one sentence and one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from phaser.core.streams import Streams
from phaser.evaluation.comparison import (
    Estimate,
    PairedDifference,
    estimate_asr,
    paired_difference,
)
from phaser.evaluation.equivalence import MARGIN
from phaser.evaluation.matrix import SuccessMatrix
from phaser.evaluation.mcnemar import TaskContrast, task_contrasts
from phaser.evaluation.metrics import mean, mean_of_known
from phaser.report import headline
from phaser.report.contrasts import BOUNDS, EVERY, Contrasts, Pair, corrected
from phaser.report.loss_summary import LossRow, loss_rows
from phaser.report.overhead import OverheadRow, overhead_rows
from phaser.report.phase_table import PhaseRow, phase_rows
from phaser.report.runs import RunResult, same_tasks

STREAMS = Streams(0)
"""Intervals of a report are the same whenever the runs are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodRow:
    """One method over its seeds; rates are fractions, `None` where there is no such thing."""

    method: str
    asr: Estimate
    nbt: float | None
    bwt: float | None
    forgetting: float | None
    plasticity: float | None
    fwt: float | None
    libero_nbt: float | None
    libero_auc: float | None
    frames_per_task: int
    cpu_s: float | None
    differences: Mapping[str, PairedDifference]
    """By baseline: this method minus the baseline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What the report says, for the terminal and for the page."""

    answer: str
    """The result for a person, without statistics."""
    sentence: str
    """The result with its uncertainty."""
    table: tuple[MethodRow, ...]
    """Success rates; empty where there is no simulator."""
    losses: tuple[LossRow, ...]
    """Held-out losses; empty where there are success rates."""
    unmeasured: tuple[str, ...]
    """Tasks whose held-out loss was not measured at the end, as their demonstrations were gone."""
    phases: tuple[PhaseRow, ...]
    overhead: tuple[OverheadRow, ...]
    by_task: Mapping[Pair, tuple[TaskContrast, ...]]
    """Methods compared on single tasks, rollout by rollout; empty where streams have their own."""
    contrasts: Contrasts
    num_tasks: int
    complete: bool
    """All cells at and below the diagonal exist; else forgetting is a lower bound."""

    @property
    def rows(self) -> Sequence[MethodRow | LossRow]:
        """One per method, by whatever methods are compared."""
        return self.losses or self.table

    @property
    def measure(self) -> str:
        """The measure that methods are compared by."""
        return "held-out loss" if self.losses else "success"


def by_method(runs: Sequence[RunResult]) -> dict[str, list[RunResult]]:
    """Runs grouped by method, in the order of the report."""
    groups: dict[str, list[RunResult]] = {}
    for run in runs:
        groups.setdefault(run.method, []).append(run)
    return groups


def summarise(
    runs: Sequence[RunResult],
    *,
    unmeasured: Sequence[str] = (),
    margin: float = MARGIN,
    contrasts: Contrasts = EVERY,
) -> Summary:
    """Average over seeds, compare what is to be compared, say it in a sentence.

    unmeasured: tasks whose held-out loss is left out everywhere (`measured_at_the_end`).
    margin: success rates that differ by less are called equal, where that is shown.
    contrasts: the comparisons that were asked for.
    """
    groups = by_method(runs)
    contrasts.check(groups)
    tried = all(run.metrics is not None for run in runs)
    matrices: dict[str, dict[int, SuccessMatrix]] = {}
    rows: tuple[MethodRow, ...] = ()
    losses: tuple[LossRow, ...] = ()
    if tried:
        matrices = {method: _matrices(group) for method, group in groups.items()}
        found = [_row(name, group, matrices, margin, contrasts) for name, group in groups.items()]
        rows = _corrected(found, contrasts)
    else:
        losses = _corrected(loss_rows(groups, contrasts, left_out=unmeasured), contrasts)
    memory = next((run.budget for run in runs if run.budget is not None), None)
    return Summary(
        answer=headline.answer(rows or losses, num_tasks=len(runs[0].tasks), memory=memory),
        sentence=headline.sentence(rows) if tried else headline.loss_sentence(losses),
        table=rows,
        losses=losses,
        unmeasured=tuple(unmeasured),
        phases=phase_rows(groups, contrasts),
        overhead=overhead_rows(groups),
        by_task=_by_task(rows, matrices) if tried and same_tasks(runs) else {},
        contrasts=contrasts,
        num_tasks=len(runs[0].tasks),
        complete=all(run.metrics.complete for run in runs if run.metrics)
        and (tried or not unmeasured),
    )


def _matrices(group: Sequence[RunResult]) -> dict[int, SuccessMatrix]:
    return {run.seed: run.matrix for run in group}


def _by_task(
    rows: Sequence[MethodRow], matrices: Mapping[str, Mapping[int, SuccessMatrix]]
) -> dict[Pair, tuple[TaskContrast, ...]]:
    found = {
        (row.method, name): task_contrasts(
            (matrices[row.method][seed], matrices[name][seed]) for seed in one.by_seed
        )
        for row in rows
        if row.method not in BOUNDS
        for name, one in row.differences.items()
    }
    return {pair: one for pair, one in found.items() if one}


def _row(
    method: str,
    group: Sequence[RunResult],
    matrices: Mapping[str, Mapping[int, SuccessMatrix]],
    margin: float,
    contrasts: Contrasts,
) -> MethodRow:
    own = matrices[method]
    differences = {
        baseline: paired_difference(
            own,
            matrices[baseline],
            STREAMS.named("difference", method, baseline),
            margin=margin,
        )
        for baseline in contrasts.of(method, matrices)
        if set(matrices[baseline]) & set(own)
    }
    seconds = [run.timing["total_cpu_s"] for run in group if "total_cpu_s" in run.timing]
    known = [run.metrics for run in group if run.metrics is not None]
    return MethodRow(
        method=method,
        asr=estimate_asr(own),
        nbt=mean_of_known([one.negative_backward_transfer for one in known]),
        bwt=mean_of_known([one.backward_transfer for one in known]),
        forgetting=mean_of_known([one.forgetting for one in known]),
        plasticity=mean_of_known([one.plasticity for one in known]),
        fwt=mean_of_known([one.forward_transfer for one in known]),
        libero_nbt=mean_of_known([one.libero_nbt for one in known]),
        libero_auc=mean_of_known([one.libero_auc for one in known]),
        frames_per_task=max(run.largest_share for run in group),
        cpu_s=mean(seconds) if seconds else None,
        differences=differences,
    )


Row = TypeVar("Row", MethodRow, LossRow)


def _corrected(rows: Sequence[Row], contrasts: Contrasts) -> tuple[Row, ...]:
    """With p values that allow for the other tests of their family."""
    pairs = {(row.method, name): one for row in rows for name, one in row.differences.items()}
    found = corrected(pairs, contrasts, lambda one: one)
    return tuple(
        replace(row, differences={name: found[row.method, name] for name in row.differences})
        for row in rows
    )
