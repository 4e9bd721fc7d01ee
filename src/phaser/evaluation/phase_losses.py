"""Which phases are forgotten first: held-out action loss per phase (paper, phase starvation).

The paper claims that brief phases starve under uniform replay. Short means less than 18 % of the
task. Each phase of each seed counts once, however many frames it has.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import pstdev
from typing import Any

import pyarrow as pa

from phaser.core.errors import BadInput
from phaser.evaluation.matrix import JOINT_ROW, checked_rows
from phaser.evaluation.metrics import mean, mean_of_known

SHORT_PHASE_SHARE = 0.18

LOSSES_SCHEMA = pa.schema(
    [
        ("after_task", pa.string()),
        ("after_index", pa.int64()),
        ("task", pa.string()),
        ("task_index", pa.int64()),
        ("phase_index", pa.int64()),
        ("phase", pa.string()),
        ("phase_share", pa.float64()),
        ("loss", pa.float64()),
        ("num_frames", pa.int64()),
    ]
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseLoss:
    """One phase of one task: its loss at the end and how much that grew since it was learnt."""

    task: str
    phase_index: int
    phase: str
    share: float
    final_loss: float
    increase: float | None
    """`None` for the last task, which had no time to be forgotten, and for joint runs."""

    @property
    def is_short(self) -> bool:
        return self.share < SHORT_PHASE_SHARE


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskLoss:
    """One task of one run: its held-out loss, the mean over its phases."""

    task: str
    learnt: float | None
    """Just after it was learnt; `None` in joint runs."""
    final: float | None
    """After the last task; `None` where its demonstrations were gone by then."""

    @property
    def increase(self) -> float | None:
        """How much the loss grew since the task was learnt: what was forgotten."""
        known = self.learnt is not None and self.final is not None
        return self.final - self.learnt if known else None  # type: ignore[operator]


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseGroup:
    """Short or long phases of one method, averaged over phases and seeds."""

    num_phases: int
    loss: float
    spread: float
    increase: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ShortAgainstLong:
    """The losses of brief phases beside those of long ones; `None` where there are no such."""

    short: PhaseGroup | None
    long: PhaseGroup | None


def phase_losses(losses: pa.Table) -> tuple[PhaseLoss, ...]:
    """The phases of one run, in training order, from its `losses.parquet`."""
    rows = checked_rows(losses, LOSSES_SCHEMA)
    loss_at = _loss_by_moment(rows)
    last = max((row["after_index"] for row in rows), default=0)
    found = []
    for row in sorted(rows, key=lambda row: (row["task_index"], row["phase_index"])):
        if row["after_index"] != last:
            continue
        learnt = loss_at.get((row["task_index"], row["task_index"], row["phase_index"]))
        grew = None
        if learnt is not None and row["task_index"] < last:
            grew = row["loss"] - learnt
        found.append(
            PhaseLoss(
                task=row["task"],
                phase_index=row["phase_index"],
                phase=row["phase"],
                share=row["phase_share"],
                final_loss=row["loss"],
                increase=grew,
            )
        )
    return tuple(found)


def task_losses(losses: pa.Table) -> tuple[TaskLoss, ...]:
    """The tasks of one run, in training order, from its `losses.parquet`."""
    rows = checked_rows(losses, LOSSES_SCHEMA)
    loss_at = _loss_by_moment(rows)
    last = max((row["after_index"] for row in rows), default=0)
    joint = any(row["after_task"] == JOINT_ROW for row in rows)
    names = {row["task_index"]: row["task"] for row in rows}

    by_pair: dict[tuple[int, int], list[float | None]] = defaultdict(list)
    for (after, task, _), one in loss_at.items():
        by_pair[after, task].append(one)

    def loss(after: int, task: int) -> float | None:
        return mean_of_known(by_pair[after, task])

    return tuple(
        TaskLoss(
            task=names[task], learnt=None if joint else loss(task, task), final=loss(last, task)
        )
        for task in sorted(names)
    )


def short_against_long(phases: Iterable[PhaseLoss]) -> ShortAgainstLong:
    """Group the phases of all seeds of one method by their length."""
    known = list(phases)
    return ShortAgainstLong(
        short=_group([phase for phase in known if phase.is_short]),
        long=_group([phase for phase in known if not phase.is_short]),
    )


def forgotten_first(phases: Iterable[PhaseLoss], *, count: int) -> tuple[PhaseLoss, ...]:
    """The phases whose loss grew most, averaged over seeds, worst first."""
    same: dict[tuple[str, int], list[PhaseLoss]] = defaultdict(list)
    for phase in phases:
        same[phase.task, phase.phase_index].append(phase)
    averages = [_average(group) for group in same.values()]
    forgotten = [phase for phase in averages if phase.increase is not None]
    forgotten.sort(key=lambda phase: -(phase.increase or 0.0))
    return tuple(forgotten[:count])


def _loss_by_moment(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int, int], float]:
    """Loss by (after index, task index, phase index)."""
    loss_at: dict[tuple[int, int, int], float] = {}
    for row in rows:
        key = (row["after_index"], row["task_index"], row["phase_index"])
        if key in loss_at:
            raise BadInput(
                f"phase {row['phase']!r} of {row['task']!r} after {row['after_task']!r} twice"
            )
        if not math.isfinite(row["loss"]):
            raise BadInput(f"loss {row['loss']} of phase {row['phase']!r} of {row['task']!r}")
        loss_at[key] = row["loss"]
    return loss_at


def _average(group: Sequence[PhaseLoss]) -> PhaseLoss:
    first = group[0]
    return PhaseLoss(
        task=first.task,
        phase_index=first.phase_index,
        phase=first.phase,
        share=mean([phase.share for phase in group]),
        final_loss=mean([phase.final_loss for phase in group]),
        increase=mean_of_known([phase.increase for phase in group]),
    )


def _group(phases: Sequence[PhaseLoss]) -> PhaseGroup | None:
    if not phases:
        return None
    losses = [phase.final_loss for phase in phases]
    return PhaseGroup(
        num_phases=len(phases),
        loss=mean(losses),
        spread=pstdev(losses),
        increase=mean_of_known([phase.increase for phase in phases]),
    )
