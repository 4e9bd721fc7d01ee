"""Write a LeRobot dataset again with phases in it; `lerobot_phases` says in which forms."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json, require_file, write_json, writing
from phaser.core.segmentation import Segmentation
from phaser.demos.lerobot import Dataset, open_dataset
from phaser.demos.lerobot_layout import inside
from phaser.demos.parquet_rows import EpisodeRows
from phaser.phases.lerobot_phases import (
    LANGUAGE_COLUMN,
    OWN_TABLE,
    SUBTASK_COLUMN,
    SUBTASK_STYLE,
    SUBTASKS_TABLE,
)

Form = Literal["subtasks", "language", "both"]
"""Columns to write: `subtask_index`, which LeRobot 0.4 to 0.6 open and 0.4 shows as `subtask`;
`language_persistent`, which only 0.6 opens; or both, for 0.6."""
_EVENTS_COLUMN = "language_events"
# LeRobot stores tool calls as Arrow's JSON where Arrow has it, else as text.
_JSON = pa.json_() if hasattr(pa, "json_") else pa.string()
_PERSISTENT_ROW = pa.struct(
    [
        pa.field("role", pa.string(), nullable=False),
        pa.field("content", pa.string()),
        pa.field("style", pa.string()),
        pa.field("timestamp", pa.float32(), nullable=False),
        pa.field("camera", pa.string()),
        pa.field("tool_calls", pa.list_(_JSON)),
    ]
)
_EVENT_ROW = pa.struct([one for one in _PERSISTENT_ROW if one.name != "timestamp"])


def write_phases(
    root: Path,
    out: Path,
    phases: Mapping[int, Segmentation],
    *,
    source: str,
    form: Form = "subtasks",
) -> None:
    """Copy a dataset into the new folder `out`, with the phases of every episode in it.

    The copy appears whole or not at all, and the dataset itself is never touched.

    Args:
        root: the folder of the LeRobot dataset.
        out: a folder that does not exist yet.
        phases: by an episode's number its phases; every episode needs them.
        source: who found the phases, for our own table (`meta/phaser_phases.parquet`).
        form: the columns by which LeRobot finds them.
    """
    if form not in get_args(Form):
        raise BadInput(f"form {form!r}; expected 'subtasks', 'language' or 'both'")
    if out.exists():
        raise BadInput(f"{out} exists already; choose a new folder")
    dataset = open_dataset(root)
    _check(dataset, phases, form)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".tmp"))
        try:
            _write(dataset, draft, phases, source=source, form=form)
            draft.chmod(0o755)
            draft.replace(out)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _check(dataset: Dataset, phases: Mapping[int, Segmentation], form: Form) -> None:
    taken = _features(form).keys() & read_json(dataset.root / "meta/info.json")["features"].keys()
    if taken:
        raise BadInput(
            f"{dataset.root} has a column {min(taken)!r} already, which would be lost; write the "
            "other form, or start from the dataset without it"
        )
    for episode in dataset.episodes:
        found = phases.get(episode.index)
        if found is None or found.num_frames != episode.num_frames:
            has = "no phases" if found is None else f"phases of {found.num_frames} frames"
            raise BadInput(
                f"episode {episode.index} of {dataset.root} has {episode.num_frames} frames and "
                f"{has}; segment this dataset again"
            )


def _write(
    dataset: Dataset,
    draft: Path,
    phases: Mapping[int, Segmentation],
    *,
    source: str,
    form: Form,
) -> None:
    spans = _by_file(dataset.episodes)
    labels = list(dict.fromkeys(label for one in phases.values() for label in one.labels))
    for relative, path in _files(dataset.root):
        target = draft / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        if path in spans:
            columns = _Columns(spans[path], phases, labels, fps=dataset.shapes.fps, form=form)
            _rewrite(path, target, columns)
        else:
            shutil.copyfile(path, target)
    info = read_json(draft / "meta/info.json")
    info["features"] |= _features(form)
    write_json(draft / "meta/info.json", info)
    if form != "language":
        pq.write_table(_subtasks_table(labels), draft / SUBTASKS_TABLE)
    pq.write_table(_own_table(phases, source), draft / OWN_TABLE)


class _Columns:
    """The new columns of one data file, row group by row group."""

    def __init__(
        self,
        episodes: Sequence[EpisodeRows],
        phases: Mapping[int, Segmentation],
        labels: Sequence[str],
        *,
        fps: int,
        form: Form,
    ) -> None:
        self.form, self.fps = form, fps
        self.segmentations = [phases[one.index] for one in episodes]
        num_rows = max(one.stop for one in episodes)
        self.subtask = np.full(num_rows, -1, np.int64)
        self.episode = np.full(num_rows, -1, np.int64)
        for position, (one, found) in enumerate(zip(episodes, self.segmentations, strict=True)):
            self.episode[one.start : one.stop] = position
            for phase in found.phases:
                rows = slice(one.start + phase.start, one.start + phase.stop)
                self.subtask[rows] = labels.index(phase.label)

    def of_rows(self, start: int, stop: int) -> dict[str, pa.Array]:
        if stop > len(self.episode) or (self.episode[start:stop] < 0).any():
            raise BrokenFile("a data file has rows that belong to no episode; restore the dataset")
        subtasks = {SUBTASK_COLUMN: pa.array(self.subtask[start:stop])}
        if self.form == "subtasks":
            return subtasks
        found = [self.segmentations[position] for position in self.episode[start:stop]]
        persistent = [(one.label, one.start / self.fps) for part in found for one in part.phases]
        offsets = np.cumsum([0, *(len(part.phases) for part in found)])
        no_events = np.zeros(len(found) + 1, np.int32)
        language = {
            LANGUAGE_COLUMN: _lists(offsets, persistent, _PERSISTENT_ROW),
            _EVENTS_COLUMN: _lists(no_events, [], _EVENT_ROW),
        }
        return language if self.form == "language" else subtasks | language


def _lists(offsets: np.ndarray, rows: Sequence[tuple[str, float]], kind: pa.StructType) -> pa.Array:
    columns = {
        "role": pa.array(["assistant"] * len(rows), pa.string()),
        "content": pa.array([label for label, _ in rows], pa.string()),
        "style": pa.array([SUBTASK_STYLE] * len(rows), pa.string()),
        "timestamp": pa.array([time for _, time in rows], pa.float32()),
        "camera": pa.nulls(len(rows), pa.string()),
        "tool_calls": pa.nulls(len(rows), pa.list_(_JSON)),
    }
    entries = pa.StructArray.from_arrays([columns[one.name] for one in kind], fields=list(kind))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), entries)


def _rewrite(path: Path, target: Path, columns: _Columns) -> None:
    """One row group at a time, so that a file of any size needs little memory."""
    require_file(path)
    with pq.ParquetFile(path) as parquet:
        writer, start = None, 0
        try:
            for number in range(parquet.metadata.num_row_groups):
                table = parquet.read_row_group(number)
                added = columns.of_rows(start, start + len(table))
                start += len(table)
                for name, values in added.items():
                    table = table.append_column(name, values)
                table = table.replace_schema_metadata(_metadata(table.schema, columns.form))
                if writer is None:
                    writer = pq.ParquetWriter(target, table.schema, compression="snappy")
                writer.write_table(table, row_group_size=max(1, len(table)))
        finally:
            if writer is not None:
                writer.close()


def _metadata(schema: pa.Schema, form: Form) -> dict[bytes, bytes]:
    """What `datasets` reads of the column types; kept true, or left out where it has no name."""
    metadata = dict(schema.metadata or {})
    described = json.loads(metadata.pop(b"huggingface", b"null"))
    if form == "subtasks" and described:
        described["info"]["features"][SUBTASK_COLUMN] = {"dtype": "int64", "_type": "Value"}
        metadata[b"huggingface"] = json.dumps(described).encode()
    return metadata


def _features(form: Form) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if form != "language":
        found[SUBTASK_COLUMN] = {"dtype": "int64", "shape": [1], "names": None}
    if form != "subtasks":
        language = {"dtype": "language", "shape": [1], "names": None}
        found |= {LANGUAGE_COLUMN: language, _EVENTS_COLUMN: language}
    return found


def _subtasks_table(labels: Sequence[str]) -> pa.Table:
    """Texts as the index of a pandas frame, row number = subtask, as LeRobot looks them up."""
    texts = {"metadata": None, "pandas_type": "unicode", "numpy_type": "object"}
    whole = {"metadata": None, "pandas_type": "int64", "numpy_type": "int64"}
    described = {
        "index_columns": ["subtask"],
        "column_indexes": [{"name": None, "field_name": None, **texts}],
        "columns": [
            {"name": SUBTASK_COLUMN, "field_name": SUBTASK_COLUMN, **whole},
            {"name": "subtask", "field_name": "subtask", **texts},
        ],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.0.0",
    }
    schema = pa.schema(
        [(SUBTASK_COLUMN, pa.int64()), ("subtask", pa.string())],
        metadata={"pandas": json.dumps(described)},
    )
    return pa.table({SUBTASK_COLUMN: range(len(labels)), "subtask": labels}, schema=schema)


def _own_table(phases: Mapping[int, Segmentation], source: str) -> pa.Table:
    rows = [
        {
            "episode_index": episode,
            "phase": number,
            "start": phase.start,
            "end": phase.stop,
            "label": phase.label,
            "source": source,
        }
        for episode, found in sorted(phases.items())
        for number, phase in enumerate(found.phases)
    ]
    return pa.Table.from_pylist(rows)


def _by_file(episodes: Sequence[EpisodeRows]) -> dict[Path, list[EpisodeRows]]:
    files: dict[Path, list[EpisodeRows]] = {}
    for episode in episodes:
        files.setdefault(episode.path, []).append(episode)
    return files


def _files(root: Path) -> Iterator[tuple[Path, Path]]:
    """Every file and its place in the dataset; a link that leads out of it is refused."""
    home = root.resolve()
    for path in sorted(home.rglob("*")):
        if path.is_file():
            relative = path.relative_to(home)
            yield relative, inside(home, str(relative))
