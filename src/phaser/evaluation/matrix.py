"""The success matrix R[j, i]: how often task i succeeds after training on task j (paper, evaluation
metrics).

Rows and columns are task names, never bare numbers, so that a reversed order cannot be misread.
The final row and the diagonal are always measured; other cells may be missing, and a metric that
needs a missing cell says which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from phaser.core.errors import BadInput

JOINT_ROW = "all"
"""The name of the only row of a joint run: every task was learnt at once."""

EPISODES_SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("method", pa.string()),
        ("seed", pa.int64()),
        ("after_task", pa.string()),
        ("after_index", pa.int64()),
        ("task", pa.string()),
        ("task_index", pa.int64()),
        ("env_seed", pa.int64()),
        ("success", pa.bool_()),
        ("steps", pa.int64()),
        ("retried", pa.bool_()),
        ("milestones", pa.string()),
    ]
)
LATER_COLUMNS = {"retried": False, "milestones": ""}
"""What files that were written before these columns existed stand for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """The episodes of one task after one stage of training."""

    successes: int
    env_seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.trials or not self.env_seeds:
            raise BadInput(f"{self.successes} successes in {self.trials} episodes")
        if len(set(self.env_seeds)) != self.trials:
            raise BadInput(f"an initial state was counted twice among {self.env_seeds}")

    @property
    def trials(self) -> int:
        return len(self.env_seeds)

    @property
    def rate(self) -> float:
        return self.successes / self.trials


@dataclass(frozen=True, kw_only=True, slots=True)
class SuccessMatrix:
    """Episode counts by (after task, task); `tasks` is the training order of this run."""

    tasks: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]

    def __post_init__(self) -> None:
        if not self.tasks or len(set(self.tasks)) != len(self.tasks):
            raise BadInput(f"a matrix needs distinct tasks, found {list(self.tasks)}")
        rows = {after for after, _ in self.cells}
        strangers = rows - {*self.tasks, JOINT_ROW} | {task for _, task in self.cells} - {
            *self.tasks
        }
        if strangers:
            raise BadInput(f"episodes of {sorted(strangers)}; the run has {list(self.tasks)}")
        if self.is_joint and len(rows) > 1:
            raise BadInput(f"a joint run has one row, {JOINT_ROW!r}; found {sorted(rows)}")

    @classmethod
    def from_counts(
        cls, tasks: Sequence[str], counts: Mapping[tuple[str, str], tuple[int, int]]
    ) -> SuccessMatrix:
        """From (successes, episodes) by (after, task), with initial states 0, 1, 2 and so on."""
        cells = {
            key: Cell(successes=successes, env_seeds=tuple(range(trials)))
            for key, (successes, trials) in counts.items()
        }
        return cls(tasks=tuple(tasks), cells=cells)

    @classmethod
    def from_episodes(cls, episodes: pa.Table, *, tasks: Sequence[str]) -> SuccessMatrix:
        """From the rows of `episodes.parquet` of one run."""
        outcomes: dict[tuple[str, str], dict[int, bool]] = defaultdict(dict)
        for row in checked_rows(with_later_columns(episodes), EPISODES_SCHEMA):
            _check_position(row, tasks)
            cell = outcomes[row["after_task"], row["task"]]
            if row["env_seed"] in cell:
                raise BadInput(
                    f"episode of {row['task']!r} after {row['after_task']!r} with initial state "
                    f"{row['env_seed']} appears twice; expected one row per episode"
                )
            cell[row["env_seed"]] = row["success"]
        cells = {
            key: Cell(successes=sum(cell.values()), env_seeds=tuple(sorted(cell)))
            for key, cell in outcomes.items()
        }
        return cls(tasks=tuple(tasks), cells=cells)

    @property
    def is_joint(self) -> bool:
        """All tasks were learnt at once: there is a final row and nothing before it."""
        return JOINT_ROW not in self.tasks and any(after == JOINT_ROW for after, _ in self.cells)

    def cell(self, after: str, task: str) -> Cell:
        try:
            return self.cells[after, task]
        except KeyError:
            raise BadInput(
                f"no episodes of {task!r} after {after!r}; evaluate this cell or use a metric "
                "that does not need it"
            ) from None

    def has(self, after: str, task: str) -> bool:
        return (after, task) in self.cells

    def final(self, task: str) -> Cell:
        """R[N, i]: the task after the whole stream."""
        return self.cell(JOINT_ROW if self.is_joint else self.tasks[-1], task)

    def learnt(self, task: str) -> Cell:
        """R[i, i]: the task just after it was trained."""
        return self.cell(task, task)


def with_later_columns(episodes: pa.Table) -> pa.Table:
    """The table with the columns that an earlier version did not write."""
    for name, value in LATER_COLUMNS.items():
        if name not in episodes.column_names:
            field = EPISODES_SCHEMA.field(name)
            column = pa.array([value] * episodes.num_rows, type=field.type)
            episodes = episodes.append_column(field, column)
    return episodes


def checked_rows(table: pa.Table, schema: pa.Schema) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries, or an error that names the column that is wrong."""
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise BadInput(f"columns {missing} are missing; found {table.column_names}")
    for field in schema:
        column = table.column(field.name)
        if column.null_count:
            raise BadInput(f"column {field.name!r} holds {column.null_count} empty values")
        if pa.types.is_boolean(field.type) != pa.types.is_boolean(column.type):
            raise BadInput(f"column {field.name!r} is {column.type}; expected {field.type}")
    try:
        rows: list[dict[str, Any]] = table.select(schema.names).cast(schema).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadInput(f"a column has the wrong type: {error}; expected {schema}") from error
    return rows


def _check_position(row: Mapping[str, Any], tasks: Sequence[str]) -> None:
    joint = row["after_task"] == JOINT_ROW and JOINT_ROW not in tasks
    expected = {"task": row["task_index"], "after_task": row["after_index"]}
    for column, index in expected.items():
        name = tasks[-1] if joint and column == "after_task" else row[column]
        if not 0 <= index < len(tasks) or tasks[index] != name:
            raise BadInput(
                f"{column} {row[column]!r} at position {index}; the training order is {list(tasks)}"
            )
