"""Per-phase losses: short against long, and what is forgotten first."""

from __future__ import annotations

import pyarrow as pa
import pytest

from phaser.core.errors import BadInput
from phaser.evaluation.phase_losses import (
    LOSSES_SCHEMA,
    forgotten_first,
    phase_losses,
    short_against_long,
)

TASKS = ("open", "close")


def loss_row(after: int, task: int, phase: int, loss: float) -> dict[str, object]:
    return {
        "after_task": TASKS[after],
        "after_index": after,
        "task": TASKS[task],
        "task_index": task,
        "phase_index": phase,
        "phase": ("reach", "grasp")[phase],
        "phase_share": (0.9, 0.1)[phase],
        "loss": loss,
        "num_frames": 50,
    }


def table(*rows: dict[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=LOSSES_SCHEMA)


ROWS = (
    loss_row(0, 0, 0, 0.1),
    loss_row(0, 0, 1, 0.1),
    loss_row(1, 0, 0, 0.15),
    loss_row(1, 0, 1, 0.4),
    loss_row(1, 1, 0, 0.1),
    loss_row(1, 1, 1, 0.2),
)


def test_short_phases_are_averaged_apart_from_long_ones() -> None:
    result = short_against_long(phase_losses(table(*ROWS)))
    assert result.short is not None
    assert result.long is not None
    assert result.short.num_phases == 2
    assert result.short.loss == pytest.approx((0.4 + 0.2) / 2)
    assert result.short.spread == pytest.approx(0.1)
    assert result.short.increase == pytest.approx(0.3)
    assert result.long.increase == pytest.approx(0.05)


def test_the_phase_that_grew_most_is_forgotten_first() -> None:
    phases = phase_losses(table(*ROWS)) * 2
    worst = forgotten_first(phases, count=5)
    assert [(phase.task, phase.phase) for phase in worst] == [("open", "grasp"), ("open", "reach")]


def test_the_last_task_has_no_increase() -> None:
    assert [phase.increase for phase in phase_losses(table(*ROWS)) if phase.task == "close"] == [
        None,
        None,
    ]


def test_a_list_without_short_phases_says_so() -> None:
    assert short_against_long(phase_losses(table(ROWS[2]))).short is None
    assert short_against_long(phase_losses(table())).long is None


def test_a_loss_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(BadInput, match="loss nan"):
        phase_losses(table(loss_row(0, 0, 0, float("nan"))))


def test_a_phase_given_twice_is_refused() -> None:
    with pytest.raises(BadInput, match="twice"):
        phase_losses(table(ROWS[0], ROWS[0]))
