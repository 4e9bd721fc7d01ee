"""The success matrix R[j, i]: how often task i succeeds after training on task j (paper, evaluation
metrics).

Rows and columns are task names, never bare numbers, so that a reversed order cannot be misread.
The final row and the diagonal are always measured; other cells may be missing, and a metric that
needs a missing cell says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Int

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

Codes = Int[np.ndarray, "rows"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """The episodes of one task after one stage of training."""

    successes: int
    env_seeds: tuple[int, ...]
    solved: bytes | None = None
    """One 0 or 1 per initial state, in their order; none where only the count is known."""

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
        table = checked_table(with_later_columns(episodes), EPISODES_SCHEMA)
        stages, stage_of = _coded(table, "after_task", "after_index")
        names, task_of = _coded(table, "task", "task_index")
        states = table.column("env_seed").to_numpy()
        solved = table.column("success").to_numpy().astype(np.uint8)
        order = np.lexsort((states, task_of, stage_of))
        cell_of = (stage_of * max(len(names), 1) + task_of)[order]
        states, solved = states[order], solved[order]
        cells = {}
        edges = np.flatnonzero(np.diff(cell_of, prepend=-1, append=-1))
        for start, stop in pairwise(edges.tolist()):
            after, task = (
                stages[int(cell_of[start]) // len(names)],
                names[int(cell_of[start]) % len(names)],
            )
            _check_position(after, task, tasks)
            _check_distinct(after[0], task[0], states[start:stop])
            outcomes = solved[start:stop]
            cells[after[0], task[0]] = Cell(
                successes=int(outcomes.sum()),
                env_seeds=_shared(states[start:stop].tobytes()),
                solved=outcomes.tobytes(),
            )
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
    rows: list[dict[str, Any]] = checked_table(table, schema).to_pylist()
    return rows


def checked_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table in the schema's types, or an error that names the column that is wrong."""
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
        return table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadInput(f"a column has the wrong type: {error}; expected {schema}") from error


def _coded(table: pa.Table, *columns: str) -> tuple[list[tuple[str, int]], Codes]:
    """The distinct (name, position) pairs of two columns, and which of them each row has."""
    pairs = list(zip(*(table.column(name).to_pylist() for name in columns), strict=True))
    known = {pair: code for code, pair in enumerate(dict.fromkeys(pairs))}
    return list(known), np.array([known[pair] for pair in pairs], dtype=np.int64)


@lru_cache(maxsize=256)
def _shared(states: bytes) -> tuple[int, ...]:
    """Initial states as a tuple; cells with the same ones share it."""
    return tuple(np.frombuffer(states, dtype=np.int64).tolist())


def _check_distinct(after: str, task: str, states: Codes) -> None:
    twice = states[1:][states[1:] == states[:-1]]
    if len(twice):
        raise BadInput(
            f"episode of {task!r} after {after!r} with initial state {twice[0]} appears twice; "
            "expected one row per episode"
        )


def _check_position(after: tuple[str, int], task: tuple[str, int], tasks: Sequence[str]) -> None:
    joint = after[0] == JOINT_ROW and JOINT_ROW not in tasks
    for column, (name, index) in (("task", task), ("after_task", after)):
        expected = tasks[-1] if joint and column == "after_task" else name
        if not 0 <= index < len(tasks) or tasks[index] != expected:
            raise BadInput(
                f"{column} {name!r} at position {index}; the training order is {list(tasks)}"
            )
