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
from phaser.evaluation.intervals import Interval, holm
from phaser.evaluation.matrix import SuccessMatrix
from phaser.evaluation.metrics import mean, mean_of_known
from phaser.report.loss_summary import LossRow, loss_rows
from phaser.report.overhead import OverheadRow, overhead_rows
from phaser.report.phase_table import PhaseRow, phase_rows
from phaser.report.runs import RunResult

BASELINES = ("er", "er-even")
"""Every other method is compared with these; er-even is the trivial control."""

BOUNDS = ("sequential", "joint")
"""What no method should fall below or can rise above: not among the tests that are corrected."""

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
    frames_per_task: int
    cpu_s: float | None
    differences: Mapping[str, PairedDifference]
    """By baseline: this method minus the baseline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What the report says, for the terminal and for the page."""

    sentence: str
    table: tuple[MethodRow, ...]
    """Success rates; empty where there is no simulator."""
    losses: tuple[LossRow, ...]
    """Held-out losses; empty where there are success rates."""
    unmeasured: tuple[str, ...]
    """Tasks whose held-out loss was not measured at the end, as their demonstrations were gone."""
    phases: tuple[PhaseRow, ...]
    overhead: tuple[OverheadRow, ...]
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
    runs: Sequence[RunResult], *, unmeasured: Sequence[str] = (), margin: float = MARGIN
) -> Summary:
    """Average over seeds, compare with the baselines, say it in a sentence.

    unmeasured: tasks whose held-out loss is left out everywhere (`measured_at_the_end`).
    margin: success rates that differ by less are called equal, where that is shown.
    """
    groups = by_method(runs)
    tried = all(run.metrics is not None for run in runs)
    rows: tuple[MethodRow, ...] = ()
    losses: tuple[LossRow, ...] = ()
    if tried:
        matrices = {method: _matrices(group) for method, group in groups.items()}
        rows = _corrected([_row(name, group, matrices, margin) for name, group in groups.items()])
    else:
        losses = _corrected(loss_rows(groups, BASELINES, left_out=unmeasured))
    return Summary(
        sentence=_sentence(rows) if tried else _loss_sentence(losses),
        table=rows,
        losses=losses,
        unmeasured=tuple(unmeasured),
        phases=phase_rows(groups, BASELINES),
        overhead=overhead_rows(groups),
        num_tasks=len(runs[0].tasks),
        complete=all(run.metrics.complete for run in runs if run.metrics)
        and (tried or not unmeasured),
    )


def percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def points(difference: float) -> str:
    """A difference in percentage points, signed; never a negative zero."""
    return f"{100 * difference + 0.0:+.1f}".replace("-0.0", "+0.0").replace("-", "−")


def bracket(interval: Interval) -> str:
    return f"[{points(interval.lower)}, {points(interval.upper)}]"


def _matrices(group: Sequence[RunResult]) -> dict[int, SuccessMatrix]:
    return {run.seed: run.matrix for run in group}


def _row(
    method: str,
    group: Sequence[RunResult],
    matrices: Mapping[str, Mapping[int, SuccessMatrix]],
    margin: float,
) -> MethodRow:
    own = matrices[method]
    differences = {
        baseline: paired_difference(
            own,
            matrices[baseline],
            STREAMS.named("difference", method, baseline),
            margin=margin,
        )
        for baseline in BASELINES
        if baseline != method and set(matrices.get(baseline, ())) & set(own)
    }
    seconds = [run.timing["total_cpu_s"] for run in group if "total_cpu_s" in run.timing]
    known = [run.metrics for run in group if run.metrics is not None]
    return MethodRow(
        method=method,
        asr=estimate_asr(own, STREAMS.named("asr", method)),
        nbt=mean_of_known([one.negative_backward_transfer for one in known]),
        bwt=mean_of_known([one.backward_transfer for one in known]),
        forgetting=mean_of_known([one.forgetting for one in known]),
        plasticity=mean_of_known([one.plasticity for one in known]),
        frames_per_task=max(run.largest_share for run in group),
        cpu_s=mean(seconds) if seconds else None,
        differences=differences,
    )


Row = TypeVar("Row", MethodRow, LossRow)


def _corrected(rows: Sequence[Row]) -> tuple[Row, ...]:
    """With p values that allow for how many methods are compared with each baseline."""
    differences = {row.method: dict(row.differences) for row in rows}
    for baseline in BASELINES:
        family = [
            row.method for row in rows if baseline in row.differences and row.method not in BOUNDS
        ]
        found = [differences[name][baseline] for name in family]
        corrected = holm([one.p_value for one in found])
        for name, one, p_value in zip(family, found, corrected, strict=True):
            differences[name][baseline] = replace(one, p_corrected=p_value)
    return tuple(replace(row, differences=differences[row.method]) for row in rows)


def _of_interest(rows: Sequence[Row]) -> Row | None:
    """The method that the sentence is about: phaser, else the last that has a rival."""
    candidates = [row for row in rows if row.differences and row.method not in BASELINES]
    preferred = [row for row in candidates if row.method == "phaser"] or [
        row for row in candidates if row.method not in BOUNDS
    ]
    return preferred[-1] if preferred else None


def _sentence(rows: Sequence[MethodRow]) -> str:
    named = {row.method: row for row in rows}
    row = _of_interest(rows)
    if row is None:
        kept = ", ".join(f"{row.method} keeps {percent(row.asr.mean)}" for row in rows)
        return f"After the last task, {kept} average success (ASR)."
    clauses = [
        f"{baseline} keeps {percent(named[baseline].asr.mean)}, difference "
        + _difference(found, differs=_uneven(found, row, named[baseline]))
        for baseline, found in row.differences.items()
    ]
    return (
        f"After the last task, {row.method} keeps {percent(row.asr.mean)} average success (ASR); "
        + "; ".join(clauses)
        + "."
    )


def _loss_sentence(rows: Sequence[LossRow]) -> str:
    named = {row.method: row for row in rows}
    row = _of_interest(rows)
    if row is None:
        kept = ", ".join(f"{row.method} {row.loss.mean:.3g}" for row in rows)
        return f"Held-out loss after the last task, lower is better: {kept}."
    clauses = []
    for baseline, found in row.differences.items():
        other = named[baseline].loss
        uneven = {row.loss.num_seeds, other.num_seeds} != {found.num_seeds}
        clauses.append(
            f"{baseline} has {other.mean:.3g}, difference {signed_loss(found.mean)}, 95 % interval "
            f"{loss_bracket(found)} {_over(found, differs=uneven)}"
        )
    return (
        f"After the last task, {row.method} has a held-out loss of {row.loss.mean:.3g} (lower is "
        f"better); {'; '.join(clauses)}."
    )


def signed_loss(difference: float) -> str:
    return f"{difference + 0.0:+.3g}".replace("-", "−")


def loss_bracket(difference: PairedDifference) -> str:
    return f"[{signed_loss(difference.interval.lower)}, {signed_loss(difference.interval.upper)}]"


def _uneven(found: PairedDifference, *rows: MethodRow) -> bool:
    """The pair has fewer seeds than a method, so the means need not differ by the difference."""
    return any(row.asr.num_seeds != found.num_seeds for row in rows)


def _difference(found: PairedDifference, *, differs: bool) -> str:
    return (
        f"{points(found.mean)} points, 95 % interval {bracket(found.interval)} "
        f"{_over(found, differs=differs)}"
    )


def _over(found: PairedDifference, *, differs: bool) -> str:
    """Over how many seeds and tasks, and whether that shows a difference."""
    over = (
        f"over {found.num_tasks} tasks only, 1 seed"
        if found.num_seeds == 1
        else f"over {found.num_seeds} seeds × {found.num_tasks} tasks"
        if found.same_tasks
        else f"over {found.num_seeds} streams of {found.num_tasks} tasks"
    )
    if differs:
        over = over.replace("seed", "common seed").replace("streams", "common streams")
    return over if found.is_clear else f"{over}, so no difference is shown"
