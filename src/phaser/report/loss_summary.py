"""Runs without rollouts, compared by their loss on held-out demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.evaluation.comparison import PairedDifference
from phaser.evaluation.loss_comparison import LossEstimate, estimate_loss, paired_loss_difference
from phaser.evaluation.metrics import mean, mean_of_known
from phaser.evaluation.phase_losses import short_against_long
from phaser.report.contrasts import Contrasts
from phaser.report.runs import RunResult

STREAMS = Streams(0)


@dataclass(frozen=True, kw_only=True, slots=True)
class LossRow:
    """One method over its seeds; `None` where there is no such thing."""

    method: str
    loss: LossEstimate
    """Held-out loss after the last task; lower is better."""
    learnt: float | None
    """Held-out loss of each task just after it was learnt, the mean over tasks."""
    forgetting: float | None
    """Growth of the loss since a task was learnt, mean over all tasks but the last."""
    short: float | None
    """Loss of phases below 18 % of their task, after the last task."""
    long: float | None
    frames_per_task: int
    cpu_s: float | None
    differences: Mapping[str, PairedDifference]
    """By baseline: this method minus the baseline; below 0 is better."""


def measured_at_the_end(
    runs: Sequence[RunResult],
) -> tuple[tuple[RunResult, ...], tuple[str, ...]]:
    """The runs with losses of those tasks alone that all of them measured after the last task.

    Also the names of the others: their demonstrations were gone by then. Streams with tasks of
    their own are looked at one by one.
    """
    known = [{one.task for one in run.task_losses if one.final is not None} for run in runs]
    if not any(known):
        return tuple(runs), ()
    shared: dict[frozenset[str], set[str]] = {}
    for run, found in zip(runs, known, strict=True):
        shared.setdefault(frozenset(run.tasks), set(found)).intersection_update(found)
    gone = [task for run in runs for task in run.tasks if task not in shared[frozenset(run.tasks)]]
    if not all(shared.values()):
        raise BadInput(
            "the runs have no task in common whose held-out loss was measured after the last task; "
            "report them apart"
        )
    kept = tuple(
        replace(
            run,
            phases=tuple(one for one in run.phases if one.task in shared[frozenset(run.tasks)]),
        )
        for run in runs
    )
    return kept, tuple(dict.fromkeys(gone))


def loss_rows(
    groups: Mapping[str, Sequence[RunResult]],
    contrasts: Contrasts,
    *,
    left_out: Sequence[str] = (),
) -> list[LossRow]:
    """A row per method; tasks that are left out count in none of its numbers."""
    losses = {
        method: {run.seed: _final(run, left_out) for run in group}
        for method, group in groups.items()
    }
    return [_row(method, group, losses, contrasts, left_out) for method, group in groups.items()]


def _row(
    method: str,
    group: Sequence[RunResult],
    losses: Mapping[str, Mapping[int, Mapping[str, float]]],
    contrasts: Contrasts,
    left_out: Sequence[str],
) -> LossRow:
    counted = [(run, one) for run in group for one in run.task_losses if one.task not in left_out]
    earlier = [one for run, one in counted if one.task != run.tasks[-1]]
    pair = short_against_long(phase for run in group for phase in run.phases)
    seconds = [run.timing["total_cpu_s"] for run in group if "total_cpu_s" in run.timing]
    own = losses[method]
    return LossRow(
        method=method,
        loss=estimate_loss(own),
        learnt=mean_of_known([one.learnt for _, one in counted]),
        forgetting=mean_of_known([one.increase for one in earlier]),
        short=pair.short.loss if pair.short else None,
        long=pair.long.loss if pair.long else None,
        frames_per_task=max(run.largest_share for run in group),
        cpu_s=mean(seconds) if seconds else None,
        differences={
            baseline: paired_loss_difference(
                own, losses[baseline], STREAMS.named("loss difference", method, baseline)
            )
            for baseline in contrasts.of(method, losses)
            if set(losses[baseline]) & set(own)
        },
    )


def _final(run: RunResult, left_out: Sequence[str]) -> dict[str, float]:
    return {
        one.task: one.final
        for one in run.task_losses
        if one.final is not None and one.task not in left_out
    }
