"""The matrix refuses what it cannot count."""

from __future__ import annotations

import pyarrow as pa
import pytest

from phaser.core.errors import BadInput
from phaser.evaluation.matrix import EPISODES_SCHEMA, SuccessMatrix, with_later_columns

TASKS = ("open", "close")


def row(after: str, task: str, env_seed: int, *, success: bool) -> dict[str, object]:
    return {
        "run": "r",
        "method": "er",
        "seed": 0,
        "after_task": after,
        "after_index": TASKS.index(after),
        "task": task,
        "task_index": TASKS.index(task),
        "env_seed": env_seed,
        "success": success,
        "steps": 10,
        "retried": False,
        "milestones": "",
    }


def episodes() -> list[dict[str, object]]:
    return [
        row("open", "open", 1, success=True),
        row("open", "open", 2, success=True),
        row("close", "open", 1, success=False),
        row("close", "open", 2, success=True),
        row("close", "close", 1, success=True),
    ]


def matrix_of(rows: list[dict[str, object]]) -> SuccessMatrix:
    return SuccessMatrix.from_episodes(
        pa.Table.from_pylist(rows, schema=EPISODES_SCHEMA), tasks=TASKS
    )


def test_episodes_are_counted_by_task_names() -> None:
    matrix = matrix_of(episodes())
    assert (matrix.final("open").successes, matrix.final("open").trials) == (1, 2)
    assert matrix.learnt("open").rate == 1.0
    assert matrix.final("open").env_seeds == (1, 2)


def test_a_missing_cell_is_named() -> None:
    matrix = matrix_of(episodes()[:2])
    with pytest.raises(BadInput, match="no episodes of 'open' after 'close'"):
        matrix.final("open")


def test_an_episode_counted_twice_is_refused() -> None:
    with pytest.raises(BadInput, match="initial state 1 appears twice"):
        matrix_of([*episodes(), row("open", "open", 1, success=False)])


def test_success_that_is_not_boolean_is_refused() -> None:
    table = pa.Table.from_pylist([dict(episodes()[0], success=1)])
    with pytest.raises(BadInput, match="'success' is int64; expected bool"):
        SuccessMatrix.from_episodes(table, tasks=TASKS)


def test_an_empty_value_is_refused() -> None:
    with pytest.raises(BadInput, match="'steps' holds 1 empty"):
        matrix_of([dict(episodes()[0], steps=None)])


def test_a_missing_column_is_named() -> None:
    table = pa.Table.from_pylist(episodes()).drop_columns(["env_seed"])
    with pytest.raises(BadInput, match="env_seed"):
        SuccessMatrix.from_episodes(table, tasks=TASKS)


def test_a_position_that_contradicts_the_training_order_is_refused() -> None:
    with pytest.raises(BadInput, match="training order is"):
        matrix_of([dict(episodes()[0], after_index=1)])


def test_more_successes_than_episodes_are_refused() -> None:
    with pytest.raises(BadInput, match="3 successes in 2 episodes"):
        SuccessMatrix.from_counts(TASKS, {("open", "open"): (3, 2)})


def test_a_joint_run_has_one_row_called_all() -> None:
    matrix = SuccessMatrix.from_counts(TASKS, {("all", "open"): (1, 2), ("all", "close"): (2, 2)})
    assert matrix.is_joint
    assert matrix.final("open").rate == 0.5
    with pytest.raises(BadInput, match="one row"):
        SuccessMatrix.from_counts(TASKS, {("all", "open"): (1, 2), ("open", "open"): (1, 2)})


def test_joint_episodes_are_read_under_the_last_position() -> None:
    rows = [dict(row("close", task, 1, success=True), after_task="all") for task in TASKS]
    assert matrix_of(rows).is_joint


def test_episodes_from_before_retries_and_milestones_are_read_as_having_had_none() -> None:
    whole = pa.Table.from_pylist(episodes(), schema=EPISODES_SCHEMA)
    before = whole.drop_columns(["retried", "milestones"])
    assert with_later_columns(before).equals(whole)
    assert SuccessMatrix.from_episodes(before, tasks=TASKS) == matrix_of(episodes())
