"""Which names a dataset gives to episode, frame, action and images, and reading them for all rows.

Actions of all rows are needed to find phases, images of a few: whole columns are read where the
dataset offers them, so that no image is decoded for its neighbour's action.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phaser.core.errors import BadInput
from phaser.replay.tensors import as_array

Key = str | int
"""The name of an entry in a sample that is a dict, its position in one that is a tuple."""

_QUIET_S, _EVERY_S = 5.0, 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """Names of what replay reads in a sample; the defaults are LeRobot's."""

    episode: Key = "episode_index"
    """The number of the episode."""
    frame: Key = "frame_index"
    """The number of the frame in its episode, from 0."""
    action: Key = "action"
    """One action per frame, or a chunk of actions whose first row is the frame's own."""
    state: Key | None = None
    """For a segmenter of your own that looks at states; Auto-PC reads actions alone."""
    images: tuple[Key, ...] | None = None
    """Images that describe a phase when it is routed; None means LeRobot's `observation.image…`,
    an empty tuple means none: phases are then compared by instruction and motion."""


def read_columns(dataset: Any, names: Sequence[Key]) -> dict[Key, np.ndarray]:
    """The named columns of all rows, in the dataset's order.

    From each of several joined datasets, else from the dataset's own `column(name)` (a KeyError
    means that it has no such column), else from the table behind a LeRobotDataset, else from the
    samples, one after the other.
    """
    if hasattr(dataset, "all_columns"):
        found: dict[Key, np.ndarray] = dataset.all_columns(names)
    else:
        found = _own_columns(dataset, names)
    rest = [name for name in names if name not in found]
    table = getattr(dataset, "hf_dataset", None)
    if rest and table is not None:
        found |= _table_columns(table, rest)
        rest = []
    if rest:
        found |= _sampled_columns(dataset, rest)
    for name, values in found.items():
        if len(values) != len(dataset):
            raise BadInput(
                f"column {name!r} has {len(values)} rows, the dataset {len(dataset)} samples; "
                "expected one row per sample"
            )
    return found


def cheap_column(dataset: Any, name: Key) -> np.ndarray:
    """One column of all rows without reading a sample; a KeyError where that cannot be."""
    found = _own_columns(dataset, [name])
    table = getattr(dataset, "hf_dataset", None)
    if name not in found and table is not None and name in table.column_names:
        found |= _table_columns(table, [name])
    return found[name]


def entry(sample: Any, name: Key, *, row: int) -> Any:
    """One named part of a sample, or one line that says what the sample has instead."""
    try:
        return sample[name]
    except (KeyError, IndexError, TypeError) as error:
        has = sorted(map(str, sample)) if isinstance(sample, Mapping) else type(sample).__name__
        raise BadInput(
            f"sample {row} has no {name!r} but {has}; "
            "say how your dataset names it: Replay(…, columns=Columns(episode=…, frame=…, …))"
        ) from error


def say(line: str) -> None:
    """A line for the person who waits; standard output belongs to their program."""
    print(f"phaser: {line}", file=sys.stderr, flush=True)


def _own_columns(dataset: Any, names: Sequence[Key]) -> dict[Key, np.ndarray]:
    found: dict[Key, np.ndarray] = {}
    for name in names if hasattr(dataset, "column") else ():
        try:
            found[name] = as_array(dataset.column(name))
        except KeyError:
            continue
    return found


def _table_columns(table: Any, names: Sequence[Key]) -> dict[Key, np.ndarray]:
    """Columns of a Hugging Face table; without `with_format` its transform would make tensors."""
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise BadInput(
            f"the dataset's table has no {missing} but {sorted(table.column_names)}; "
            "say how it names them: Replay(…, columns=Columns(…))"
        )
    rows = table.select_columns(list(names)).with_format("numpy")[:]
    return {name: as_array(rows[name]) for name in names}


def _sampled_columns(dataset: Any, names: Sequence[Key]) -> dict[Key, np.ndarray]:
    values: dict[Key, list[np.ndarray]] = {name: [] for name in names}
    said = time.monotonic() + _QUIET_S - _EVERY_S
    for row in range(len(dataset)):
        sample = dataset[row]
        for name in names:
            values[name].append(as_array(entry(sample, name, row=row)))
        if time.monotonic() - said > _EVERY_S:
            said = time.monotonic()
            say(
                f"read {row + 1} of {len(dataset)} samples for their actions; "
                "a column(name) method on the dataset would spare the images"
            )
    return {name: _stacked(name, rows) for name, rows in values.items()}


def _stacked(name: Key, rows: Sequence[np.ndarray]) -> np.ndarray:
    shapes = {row.shape for row in rows}
    if len(shapes) > 1:
        raise BadInput(f"{name!r} has the shapes {sorted(shapes)}; expected one shape in all rows")
    return np.stack(rows) if rows else np.zeros(0)
