"""Phases in and out of LeRobot datasets, in the four forms in which they are found.

`meta/phaser_phases.parquet`, our own table (episode, phase, start, end, label, source);
`meta/subtasks.parquet` with a `subtask_index` in every frame (LeRobot 0.4 and 0.5); rows of style
"subtask" in the column `language_persistent`, the same list in every frame of an episode (LeRobot
0.6); and the columns of `meta/episodes` that SARM's annotation adds (`sarm`). Writing makes a new
dataset beside the old one, which is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int

from phaser.core.errors import BrokenFile, BrokenSegmentation
from phaser.core.files import require_file
from phaser.core.segmentation import Segmentation
from phaser.demos.lerobot import Dataset, open_dataset
from phaser.demos.lerobot_layout import inside
from phaser.demos.parquet_rows import EpisodeRows, read_rows
from phaser.phases.sarm import sarm_phases

OWN_TABLE = "meta/phaser_phases.parquet"
SUBTASKS_TABLE = "meta/subtasks.parquet"
SUBTASK_COLUMN = "subtask_index"
LANGUAGE_COLUMN = "language_persistent"
SUBTASK_STYLE = "subtask"
_MAX_TABLE_ROWS = 10_000_000


def read_phases(root: Path) -> dict[int, Segmentation]:
    """The phases of every episode, by its number; our own table wins, then the newer form.

    SARM's annotation may leave out episodes; the others have all.
    """
    dataset = open_dataset(root)
    if inside(root, OWN_TABLE).exists():
        return _from_own_table(dataset)
    columns = pq.read_schema(dataset.episodes[0].path).names if dataset.episodes else []
    if LANGUAGE_COLUMN in columns:
        return {one.index: _from_language(dataset, one) for one in dataset.episodes}
    if SUBTASK_COLUMN in columns:
        labels = _subtask_labels(root)
        return {one.index: _from_subtasks(one, labels) for one in dataset.episodes}
    if found := sarm_phases(dataset):
        return found
    raise BrokenFile(
        f"{root} holds no phases; expected {OWN_TABLE}, a column {LANGUAGE_COLUMN!r} or "
        f"{SUBTASK_COLUMN!r}, or SARM's columns in meta/episodes; phaser segment --to-lerobot "
        "writes them"
    )


def _from_own_table(dataset: Dataset) -> dict[int, Segmentation]:
    path = inside(dataset.root, OWN_TABLE)
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in _table_rows(path, ["episode_index", "phase", "start", "end", "label"]):
        rows.setdefault(row["episode_index"], []).append(row)
    found = {}
    for episode in dataset.episodes:
        part = sorted(rows.get(episode.index, []), key=lambda row: row["phase"])
        starts, labels = [row["start"] for row in part], [str(row["label"]) for row in part]
        ends = [row["end"] for row in part]
        if ends != [*starts[1:], episode.num_frames]:
            raise BrokenFile(f"{path}: the phases of episode {episode.index} do not cover it")
        found[episode.index] = _segmentation(starts, labels, episode)
    return found


def _from_subtasks(episode: EpisodeRows, labels: dict[int, str]) -> Segmentation:
    column = read_rows(episode, [SUBTASK_COLUMN])[SUBTASK_COLUMN].combine_chunks()
    if column.null_count or not pa.types.is_integer(column.type):
        raise BrokenFile(f"{episode.path}: {SUBTASK_COLUMN!r} is not a whole number in every frame")
    indices: Int[np.ndarray, "frames"] = column.to_numpy()
    unknown = sorted(set(indices.tolist()) - labels.keys())
    if unknown:
        raise BrokenFile(
            f"{episode.path}: episode {episode.index} has frames of subtask {unknown[0]}, which "
            f"{SUBTASKS_TABLE} does not name; annotate every frame"
        )
    starts = [0, *(np.flatnonzero(np.diff(indices)) + 1).tolist()]
    return _segmentation(starts, [labels[int(indices[start])] for start in starts], episode)


def _from_language(dataset: Dataset, episode: EpisodeRows) -> Segmentation:
    table = read_rows(episode, [LANGUAGE_COLUMN, "timestamp"])
    rows = _subtask_rows(table[LANGUAGE_COLUMN][0].as_py(), episode)
    if rows != _subtask_rows(table[LANGUAGE_COLUMN][-1].as_py(), episode):
        raise BrokenFile(
            f"{episode.path}: {LANGUAGE_COLUMN!r} differs between the frames of episode "
            f"{episode.index}; expected the same list in each"
        )
    times = table["timestamp"].to_numpy()
    half_frame = 0.5 / dataset.shapes.fps
    starts = [int(np.searchsorted(times, time - half_frame)) for time, _ in rows]
    if not starts or starts[0] != 0:
        raise BrokenFile(
            f"{episode.path}: no subtask begins with episode {episode.index}; annotate its start"
        )
    return _segmentation(starts, [label for _, label in rows], episode)


def _subtask_rows(entries: Any, episode: EpisodeRows) -> list[tuple[float, str]]:
    """Beginnings and texts of the subtasks, in order of time."""
    rows = []
    for entry in entries or []:
        if not isinstance(entry, dict) or entry.get("style") != SUBTASK_STYLE:
            continue
        time, label = entry.get("timestamp"), entry.get("content")
        if not isinstance(time, float) or not np.isfinite(time) or not isinstance(label, str):
            raise BrokenFile(f"{episode.path}: a subtask without time or text; repair the dataset")
        rows.append((time, label))
    return sorted(rows)


def _subtask_labels(root: Path) -> dict[int, str]:
    """Texts by number; a text is the index of a pandas frame, under whichever name it was saved."""
    path = inside(root, SUBTASKS_TABLE)
    columns = _opened(path).schema_arrow.names
    named = [name for name in columns if name != SUBTASK_COLUMN]
    if len(named) != 1 or SUBTASK_COLUMN not in columns:
        raise BrokenFile(f"{path} has columns {columns}; expected {SUBTASK_COLUMN!r} and the texts")
    rows = _table_rows(path, [SUBTASK_COLUMN, named[0]])
    return {int(row[SUBTASK_COLUMN]): str(row[named[0]]) for row in rows}


def _segmentation(
    starts: Sequence[int], labels: Iterable[str], episode: EpisodeRows
) -> Segmentation:
    try:
        if not starts or starts[0] != 0:
            raise BrokenSegmentation(f"phases start at {list(starts)[:1]}, expected 0")
        return Segmentation.from_boundaries(
            starts[1:], num_frames=episode.num_frames, labels=tuple(labels)
        )
    except BrokenSegmentation as error:
        raise BrokenFile(f"{episode.path}, episode {episode.index}: {error}") from error


def _table_rows(path: Path, columns: list[str]) -> list[dict[str, Any]]:
    parquet = _opened(path)
    missing = [name for name in columns if name not in parquet.schema_arrow.names]
    if missing or parquet.metadata.num_rows > _MAX_TABLE_ROWS:
        raise BrokenFile(
            f"{path} has {parquet.metadata.num_rows} rows and columns "
            f"{parquet.schema_arrow.names}; expected {columns}"
        )
    rows: list[dict[str, Any]] = parquet.read(columns=columns).to_pylist()
    if any(value is None for row in rows for value in row.values()):
        raise BrokenFile(f"{path} has empty cells; restore it")
    return rows


def _opened(path: Path) -> pq.ParquetFile:
    require_file(path)
    try:
        return pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise BrokenFile(f"{path} is not a parquet file; restore the dataset") from error
