"""Read a LeRobot v3.0 dataset with pyarrow alone; images stay in parquet until they are read.

Nothing in the files is trusted: versions, paths, sizes and counts are checked before they are used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float, UInt8

from phaser.core.demonstration import ActionLayout, Demo, Images
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import sha256
from phaser.demos import png
from phaser.demos.lerobot_layout import (
    CAMERA_PREFIX,
    EPISODES_PATH,
    Shapes,
    Sidecar,
    data_file,
    inside,
    read_shapes,
    read_sidecar,
)

MAX_ROW_GROUP_BYTES = 2 << 30
MAX_EPISODES = 10_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeRows:
    """Where the frames of one episode lie: a data file and a half-open span of its rows."""

    index: int
    instruction: str
    path: Path
    start: int
    stop: int

    @property
    def num_frames(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """An opened dataset: shapes, our sidecar if there is one, and where each episode lies."""

    root: Path
    shapes: Shapes
    sidecar: Sidecar | None

    @cached_property
    def episodes(self) -> tuple[EpisodeRows, ...]:
        return _episodes(self.root)

    def data_sha256(self) -> str:
        """One hash over all data files, images included."""
        paths = dict.fromkeys(episode.path for episode in self.episodes)
        return hashlib.sha256("".join(sha256(path) for path in paths).encode()).hexdigest()

    def demos(self, layout: ActionLayout | None = None) -> tuple[Demo, ...]:
        """All demonstrations; `layout` is needed for datasets without our sidecar."""
        layout = layout or (self.sidecar.layout if self.sidecar else None)
        if layout is None:
            raise BadInput(
                f"{self.root} does not say which action dimensions move the arm and which the "
                "gripper; give an action layout"
            )
        names = self.sidecar.task_names if self.sidecar else {}
        return tuple(
            self._demo(episode, layout, names.get(episode.instruction, episode.instruction))
            for episode in self.episodes
        )

    def _demo(self, episode: EpisodeRows, layout: ActionLayout, task: str) -> Demo:
        names = ["observation.state", "action", "episode_index", "frame_index"]
        table = _read_rows(episode, names)
        frames = np.arange(episode.num_frames)
        counted = table["frame_index"].to_numpy()
        numbered = table["episode_index"].to_numpy()
        if not ((counted == frames).all() and (numbered == episode.index).all()):
            raise BrokenFile(f"{episode.path} holds other rows than episode {episode.index}")
        cameras: dict[str, Images] = {
            name: ParquetImages(
                episode=episode, column=CAMERA_PREFIX + name, height=size[0], width=size[1]
            )
            for name, size in self.shapes.cameras.items()
        }
        return Demo(
            task=task,
            index=episode.index,
            actions=_vectors(table, "action", len(self.shapes.action_names), episode),
            states=_vectors(table, "observation.state", len(self.shapes.state_names), episode),
            layout=layout,
            cameras=cameras,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ParquetImages:
    """PNG frames of one camera of one episode; holds no open file, so it crosses processes."""

    episode: EpisodeRows
    column: str
    height: int
    width: int

    def __len__(self) -> int:
        return self.episode.num_frames

    def read(self, frames: Sequence[int]) -> UInt8[np.ndarray, "count height width 3"]:
        outside = [frame for frame in frames if not 0 <= frame < len(self)]
        if outside:
            raise BadInput(f"frame {outside[0]} is outside [0, {len(self)})")
        contents = _read_rows(self.episode, [self.column])[self.column].combine_chunks()
        stored = contents.field("bytes")
        pixels = np.empty((len(frames), self.height, self.width, 3), np.uint8)
        for position, frame in enumerate(frames):
            where = f"{self.column} of frame {frame} in {self.episode.path}"
            content = stored[int(frame)].as_py()
            if content is None:
                raise BrokenFile(f"{where} holds no bytes; images must be inside the parquet file")
            pixels[position] = png.decode(
                content, height=self.height, width=self.width, where=where
            )
        return pixels


def open_dataset(root: Path) -> Dataset:
    """Check the description of a dataset; no frame is read yet."""
    return Dataset(root=root, shapes=read_shapes(root), sidecar=read_sidecar(root))


def _episodes(root: Path) -> tuple[EpisodeRows, ...]:
    path = inside(root, EPISODES_PATH)
    names = ["episode_index", "tasks", "length", "dataset_from_index", "dataset_to_index"]
    places = ["data/chunk_index", "data/file_index"]
    with _opened(path) as parquet:
        if parquet.metadata.num_rows > MAX_EPISODES:
            raise BrokenFile(f"{path} claims {parquet.metadata.num_rows} episodes")
        missing = [name for name in names + places if name not in parquet.schema_arrow.names]
        if missing:
            raise BrokenFile(
                f"{path} has no column {missing[0]!r}; expected a LeRobot v3.0 dataset"
            )
        rows = parquet.read(columns=names + places).to_pylist()
    first_of_file: dict[tuple[int, int], int] = {}
    for row in rows:
        place = (row["data/chunk_index"], row["data/file_index"])
        first_of_file[place] = min(first_of_file.get(place, 2**62), row["dataset_from_index"])
    return tuple(_episode_rows(root, row, first_of_file) for row in rows)


def _episode_rows(
    root: Path, row: Mapping[str, Any], first_of_file: Mapping[tuple[int, int], int]
) -> EpisodeRows:
    chunk, file = row["data/chunk_index"], row["data/file_index"]
    start = row["dataset_from_index"] - first_of_file[chunk, file]
    stop = row["dataset_to_index"] - first_of_file[chunk, file]
    if stop - start != row["length"] or row["length"] < 1 or not row["tasks"]:
        raise BrokenFile(
            f"{root} describes episode {row['episode_index']} as rows {start} to {stop}"
        )
    return EpisodeRows(
        index=row["episode_index"],
        instruction=row["tasks"][0],
        path=data_file(root, chunk, file),
        start=start,
        stop=stop,
    )


def _read_rows(episode: EpisodeRows, columns: list[str]) -> pa.Table:
    """The rows of an episode, from no more row groups than hold them."""
    with _opened(episode.path) as parquet:
        missing = [name for name in columns if name not in parquet.schema_arrow.names]
        if missing:
            raise BrokenFile(f"{episode.path} lacks column {missing[0]!r}, declared in info.json")
        groups: list[int] = []
        first = edge = 0
        for number in range(parquet.metadata.num_row_groups):
            group = parquet.metadata.row_group(number)
            if edge < episode.stop and edge + group.num_rows > episode.start:
                if not groups:
                    first = edge
                if group.total_byte_size > MAX_ROW_GROUP_BYTES:
                    raise BrokenFile(
                        f"{episode.path} has a row group over {MAX_ROW_GROUP_BYTES} bytes"
                    )
                groups.append(number)
            edge += group.num_rows
        if edge < episode.stop:
            raise BrokenFile(f"{episode.path} has {edge} rows, expected at least {episode.stop}")
        table = parquet.read_row_groups(groups, columns=columns)
    return table.slice(episode.start - first, episode.num_frames)


def _vectors(
    table: pa.Table, name: str, size: int, episode: EpisodeRows
) -> Float[np.ndarray, "frames size"]:
    column = table[name].combine_chunks()
    flat: np.ndarray = column.flatten().to_numpy(zero_copy_only=False)
    if column.null_count or flat.dtype.kind != "f" or flat.size != len(table) * size:
        raise BrokenFile(f"{episode.path}: {name!r} is not {size} numbers in every frame")
    # Arrow's memory is read-only, which torch refuses to share without a warning.
    return np.array(flat.reshape(len(table), size))


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise BrokenFile(f"{path} does not exist; restore the dataset") from error
    except pa.ArrowInvalid as error:
        raise BrokenFile(f"{path} is not a parquet file; restore the dataset") from error
