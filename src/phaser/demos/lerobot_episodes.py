"""Where each episode of a LeRobot dataset lies: rows of a data file, spans of its videos."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import open_file, parsed_json, require_file
from phaser.demos.lerobot_info import Info
from phaser.demos.lerobot_layout import (
    CHUNK_SIZE,
    DATA_PATH,
    EPISODES_PATH,
    OLD_DATA_PATH,
    OLD_EPISODES_PATH,
    OLD_VIDEO_PATH,
    VIDEO_PATH,
    inside,
)
from phaser.demos.parquet_rows import EpisodeRows, VideoPlace

MAX_EPISODES = 10_000_000
MAX_LINE_BYTES = 4 << 20
_Place = tuple[int, int]


def read_episodes(root: Path, info: Info) -> tuple[EpisodeRows, ...]:
    found = _one_per_file(root, info) if info.one_file_per_episode else _many_per_file(root, info)
    if len(found) != info.num_episodes:
        raise BrokenFile(
            f"{root} describes {len(found)} episodes, its info.json declares {info.num_episodes}"
        )
    if len({episode.index for episode in found}) != len(found):
        raise BrokenFile(f"{root} describes an episode twice; restore its meta folder")
    total = sum(episode.num_frames for episode in found)
    if info.num_frames is not None and info.num_frames != total:
        raise BrokenFile(
            f"{root} describes {total} frames, its info.json declares {info.num_frames}"
        )
    return found


def _one_per_file(root: Path, info: Info) -> tuple[EpisodeRows, ...]:
    """v2.0 and v2.1: `meta/episodes.jsonl` counts, the episode's number names its files."""
    found = []
    for row in _json_lines(inside(root, OLD_EPISODES_PATH)):
        index = _whole(root, row, "episode_index")
        numbers = {"episode_chunk": index // info.episodes_per_chunk, "episode_index": index}
        videos = {
            name: VideoPlace(
                path=inside(
                    root, OLD_VIDEO_PATH.format(video_key=info.camera_columns[name], **numbers)
                ),
                start_s=0.0,
            )
            for name in info.video_cameras
        }
        found.append(
            EpisodeRows(
                index=index,
                instruction=_instruction(root, row),
                path=inside(root, OLD_DATA_PATH.format(**numbers)),
                start=0,
                stop=_length(root, row),
                whole_file=True,
                videos=videos,
            )
        )
    return tuple(found)


def _many_per_file(root: Path, info: Info) -> tuple[EpisodeRows, ...]:
    """v3.0: tables of episodes name the file and the rows of each."""
    rows = _episode_tables(root, info)
    first_of_file: dict[_Place, int] = {}
    for row in rows:
        place = _place(root, row, "data")
        begin = _whole(root, row, "dataset_from_index")
        first_of_file[place] = min(first_of_file.get(place, begin), begin)
    return tuple(_episode_rows(root, info, row, first_of_file) for row in rows)


def _episode_rows(
    root: Path, info: Info, row: Mapping[str, Any], first_of_file: Mapping[_Place, int]
) -> EpisodeRows:
    chunk, file = place = _place(root, row, "data")
    start = _whole(root, row, "dataset_from_index") - first_of_file[place]
    stop = _whole(root, row, "dataset_to_index") - first_of_file[place]
    if stop - start != _length(root, row):
        raise BrokenFile(
            f"{root} describes episode {row['episode_index']} as rows {start} to {stop}"
        )
    return EpisodeRows(
        index=_whole(root, row, "episode_index"),
        instruction=_instruction(root, row),
        path=inside(root, DATA_PATH.format(chunk_index=chunk, file_index=file)),
        start=start,
        stop=stop,
        videos={
            name: _video_place(root, row, info.camera_columns[name]) for name in info.video_cameras
        },
    )


def _video_place(root: Path, row: Mapping[str, Any], column: str) -> VideoPlace:
    chunk, file = _place(root, row, f"videos/{column}")
    start = row[f"videos/{column}/from_timestamp"]
    if not isinstance(start, float) or not 0 <= start < 1e9:
        raise BrokenFile(f"{root} lets {column!r} begin at {start!r} s; restore its meta folder")
    relative = VIDEO_PATH.format(video_key=column, chunk_index=chunk, file_index=file)
    return VideoPlace(path=inside(root, relative), start_s=start)


def episode_columns(root: Path, names: Sequence[str]) -> list[dict[str, Any]]:
    """Further columns of every episode beside its number and length, of v3.0; a column that a
    table lacks makes that table's part empty."""
    rows: list[dict[str, Any]] = []
    for path in _table_paths(root):
        present = pq.read_schema(path).names if path.is_file() else []
        if all(name in present for name in names):
            rows += _table_rows(path, ["episode_index", "length", *names])
    return rows


def _table_paths(root: Path) -> list[Path]:
    """The tables of episodes; a link that leads out of the dataset is refused."""
    found = sorted(inside(root, "meta/episodes").glob("chunk-*/file-*.parquet"))
    home = root.resolve()
    return [inside(root, str(path.relative_to(home))) for path in found]


def _episode_tables(root: Path, info: Info) -> list[dict[str, Any]]:
    names = ["episode_index", "tasks", "length", "dataset_from_index", "dataset_to_index"]
    names += ["data/chunk_index", "data/file_index"]
    for camera in sorted(info.video_cameras):
        prefix = f"videos/{info.camera_columns[camera]}"
        names += [f"{prefix}/{part}" for part in ("chunk_index", "file_index", "from_timestamp")]
    rows: list[dict[str, Any]] = []
    for path in _table_paths(root) or [inside(root, EPISODES_PATH)]:
        rows += _table_rows(path, names)
        if len(rows) > MAX_EPISODES:
            raise BrokenFile(f"{root} claims more than {MAX_EPISODES} episodes")
    return rows


def _table_rows(path: Path, names: Sequence[str]) -> list[dict[str, Any]]:
    require_file(path)
    try:
        with pq.ParquetFile(path) as parquet:
            if parquet.metadata.num_rows > MAX_EPISODES:
                raise BrokenFile(f"{path} claims {parquet.metadata.num_rows} episodes")
            missing = [name for name in names if name not in parquet.schema_arrow.names]
            if missing:
                raise BrokenFile(
                    f"{path} has no column {missing[0]!r}; expected a LeRobot v3.0 dataset"
                )
            rows: list[dict[str, Any]] = parquet.read(columns=list(names)).to_pylist()
    except pa.ArrowInvalid as error:
        raise BrokenFile(f"{path} is not a parquet file; restore the dataset") from error
    return rows


def _json_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    with open_file(path) as stream:
        number = 0
        while line := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if number > MAX_EPISODES or len(line) > MAX_LINE_BYTES:
                raise BrokenFile(f"{path} is too large at line {number}")
            if not line.strip():
                continue
            row = parsed_json(line, f"{path} line {number}")
            if not isinstance(row, dict):
                raise BrokenFile(f"{path} line {number} is no object; restore the dataset")
            yield row


def _whole(root: Path, row: Mapping[str, Any], key: str) -> int:
    found = row.get(key)
    if not isinstance(found, int) or not 0 <= found < 2**62:
        raise BrokenFile(f"{root} describes an episode with {key} {found!r}; restore its meta")
    return found


def _length(root: Path, row: Mapping[str, Any]) -> int:
    length = _whole(root, row, "length")
    if length < 1:
        raise BrokenFile(f"{root} describes episode {row.get('episode_index')} without frames")
    return length


def _place(root: Path, row: Mapping[str, Any], prefix: str) -> _Place:
    chunk = _whole(root, row, f"{prefix}/chunk_index")
    file = _whole(root, row, f"{prefix}/file_index")
    if chunk >= CHUNK_SIZE**2 or file >= CHUNK_SIZE:
        raise BrokenFile(f"{root} names {prefix} chunk {chunk}, file {file}; expected 0 to 999")
    return chunk, file


def _instruction(root: Path, row: Mapping[str, Any]) -> str:
    tasks = row.get("tasks")
    known = isinstance(tasks, list) and all(isinstance(task, str) and task for task in tasks)
    if not known or not tasks:
        raise BrokenFile(f"{root} gives episode {row.get('episode_index')} the tasks {tasks!r}")
    if len(set(tasks)) > 1:
        raise BadInput(
            f"{root}: episode {row.get('episode_index')} has {len(set(tasks))} instructions, "
            "expected one; split it into one episode per instruction"
        )
    return str(tasks[0])
