"""Rows of one episode in a parquet file: vectors now, images when they are asked for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float, UInt8

from phaser.core.errors import BadInput, BrokenFile
from phaser.demos import png
from phaser.demos.open_files import OpenFiles

MAX_ROW_GROUP_BYTES = 2 << 30
MAX_OPEN_FILES = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class VideoPlace:
    """Where the frames of one camera of one episode lie: a video file and the first one's time."""

    path: Path
    start_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeRows:
    """Where the frames of one episode lie: a data file and a half-open span of its rows."""

    index: int
    instruction: str
    path: Path
    start: int
    stop: int
    whole_file: bool = False
    videos: Mapping[str, VideoPlace] = field(default_factory=dict)

    @property
    def num_frames(self) -> int:
        return self.stop - self.start


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
        check_frames(frames, len(self))
        contents = read_rows(self.episode, [self.column])[self.column].combine_chunks()
        if not pa.types.is_struct(contents.type) or contents.type.get_field_index("bytes") < 0:
            raise BrokenFile(f"{self.episode.path}: {self.column!r} holds no images")
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


class _Parquet:
    """An open parquet file and the rows at which its row groups begin."""

    def __init__(self, path: Path) -> None:
        try:
            self.file = pq.ParquetFile(path)
        except pa.ArrowInvalid as error:
            raise BrokenFile(f"{path} is not a parquet file; restore the dataset") from error
        metadata = self.file.metadata
        groups = range(metadata.num_row_groups)
        self.edges = [0, *accumulate(metadata.row_group(k).num_rows for k in groups)]

    def close(self) -> None:
        self.file.close()


_OPEN: OpenFiles[_Parquet] = OpenFiles(_Parquet, limit=MAX_OPEN_FILES)


def check_frames(frames: Sequence[int], num_frames: int) -> None:
    outside = [frame for frame in frames if not 0 <= frame < num_frames]
    if outside:
        raise BadInput(f"frame {outside[0]} is outside [0, {num_frames})")


def read_rows(episode: EpisodeRows, columns: Sequence[str]) -> pa.Table:
    """The rows of an episode, from no more row groups than hold them."""
    with _OPEN.borrowed(episode.path) as parquet:
        missing = [name for name in columns if name not in parquet.file.schema_arrow.names]
        if missing:
            raise BrokenFile(f"{episode.path} lacks column {missing[0]!r}, declared in info.json")
        num_rows = parquet.edges[-1]
        if num_rows < episode.stop or (episode.whole_file and num_rows != episode.stop):
            expected = f"{'exactly' if episode.whole_file else 'at least'} {episode.stop}"
            raise BrokenFile(f"{episode.path} has {num_rows} rows, expected {expected}")
        first = bisect_right(parquet.edges, episode.start) - 1
        groups = range(first, bisect_left(parquet.edges, episode.stop))
        for number in groups:
            if parquet.file.metadata.row_group(number).total_byte_size > MAX_ROW_GROUP_BYTES:
                raise BrokenFile(f"{episode.path} has a row group over {MAX_ROW_GROUP_BYTES} bytes")
        try:
            table = parquet.file.read_row_groups(list(groups), columns=list(columns))
        except (OSError, pa.ArrowInvalid) as error:
            raise BrokenFile(f"{episode.path} is damaged ({error}); restore it") from error
    return table.slice(episode.start - parquet.edges[first], episode.num_frames)


def vectors(
    table: pa.Table, name: str, size: int, episode: EpisodeRows
) -> Float[np.ndarray, "frames size"]:
    """A column of lists of `size` numbers; a column of plain numbers where `size` is one."""
    column = table[name].combine_chunks()
    refusal = BrokenFile(f"{episode.path}: {name!r} is not {size} numbers in every frame")
    if column.null_count:
        raise refusal
    if pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
        if _list_lengths(column) - {size}:
            raise refusal
        column = column.flatten()
    if (
        not pa.types.is_floating(column.type)
        or column.null_count
        or len(column) != len(table) * size
    ):
        raise refusal
    # Arrow's memory is read-only, which torch refuses to share without a warning.
    return np.array(column.to_numpy(zero_copy_only=False).reshape(len(table), size))


def _list_lengths(column: pa.Array) -> set[int]:
    """Without Arrow's compute functions, whose call costs more than reading an episode."""
    if pa.types.is_fixed_size_list(column.type):
        return {column.type.list_size}
    return set(np.diff(column.offsets.to_numpy()).tolist())
