"""Write a LeRobot v3.0 dataset: episodes are streamed, the folder appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float, Int, UInt8

from phaser.core.errors import BadInput
from phaser.core.files import write_json, writing
from phaser.demos import lerobot_statistics as statistics
from phaser.demos import png
from phaser.demos.lerobot_layout import (
    CAMERA_PREFIX,
    CHUNK_SIZE,
    DATA_FILE_MB,
    DATA_PATH,
    EPISODES_PATH,
    VERSION,
    Shapes,
    Sidecar,
    features_of,
)
from phaser.demos.lerobot_tables import data_schema, data_table, tasks_table


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Episode:
    """One demonstration with its pixels, on its way to disk."""

    instruction: str
    actions: Float[np.ndarray, "frames action"]
    states: Float[np.ndarray, "frames state"]
    images: Mapping[str, UInt8[np.ndarray, "frames _ _ 3"]]
    counters: Mapping[str, Int[np.ndarray, "frames"]] = field(default_factory=dict)


def write_dataset(
    root: Path,
    episodes: Iterable[Episode],
    *,
    shapes: Shapes,
    sidecar: Sidecar | None,
    data_file_mb: float = DATA_FILE_MB,
) -> None:
    """Write beside `root`, then rename; an older dataset at `root` is replaced.

    Without a sidecar, whoever reads the dataset must say what its action's dimensions do.
    """
    with writing(root):
        root.parent.mkdir(parents=True, exist_ok=True)
        name = tempfile.mkdtemp(dir=root.parent, prefix=f".{root.name}.", suffix=".tmp")
        draft = _Draft(root=Path(name), shapes=shapes, data_file_bytes=data_file_mb * 2**20)
        try:
            for episode in episodes:
                draft.add(episode)
            draft.finish(sidecar)
            _put_in_place(draft.root, root)
        finally:
            draft.close()
            shutil.rmtree(draft.root, ignore_errors=True)


@dataclass(kw_only=True, slots=True)
class _Draft:
    """A dataset in the making, in a folder that nobody reads yet."""

    root: Path
    shapes: Shapes
    data_file_bytes: float
    rows: list[dict[str, Any]] = field(default_factory=list)
    statistics: list[dict[str, statistics.Statistics]] = field(default_factory=list)
    instructions: list[str] = field(default_factory=list)
    num_frames: int = 0
    num_files: int = 0
    stream: BinaryIO | None = None
    parquet: pq.ParquetWriter | None = None

    def add(self, episode: Episode) -> None:
        length = len(episode.actions)
        _check(episode, self.shapes)
        if episode.instruction not in self.instructions:
            self.instructions.append(episode.instruction)
        vectors = {"observation.state": episode.states, "action": episode.actions}
        frames = np.arange(length)
        scalars: dict[str, np.ndarray] = {
            "timestamp": (frames / self.shapes.fps).astype(np.float32),
            "frame_index": frames,
            "episode_index": np.full(length, len(self.rows)),
            "index": frames + self.num_frames,
            "task_index": np.full(length, self.instructions.index(episode.instruction)),
            **episode.counters,
        }
        pngs = {name: [png.encode(one) for one in part] for name, part in episode.images.items()}
        schema = data_schema(self.shapes)
        table = data_table(schema, vectors=vectors, scalars=scalars, pngs=pngs)
        # One row group per episode, so that the images of one episode are read alone.
        self._open(schema).write_table(table, row_group_size=length)
        parts = {CAMERA_PREFIX + k: statistics.of_images(v) for k, v in episode.images.items()}
        parts |= {name: statistics.of_vectors(part) for name, part in vectors.items()}
        columns = {name: part[:, None] for name, part in scalars.items()}
        parts |= {name: statistics.of_vectors(part) for name, part in columns.items()}
        self.statistics.append(parts)
        self.rows.append(self._row(episode, parts))
        self.num_frames += length
        assert self.stream is not None
        if self.stream.tell() >= self.data_file_bytes:
            self.close()

    def finish(self, sidecar: Sidecar | None) -> None:
        if not self.rows:
            raise BadInput("a dataset needs at least one episode, none was given")
        self.close()
        meta = self.root / "meta"
        _write_table(self.root / EPISODES_PATH, pa.Table.from_pylist(self.rows))
        _write_table(meta / "tasks.parquet", tasks_table(self.instructions))
        features = self.statistics[0]
        total = {k: statistics.pooled([part[k] for part in self.statistics]) for k in features}
        write_json(meta / "stats.json", statistics.to_json(total))
        write_json(meta / "info.json", self._info())
        if sidecar is not None:
            write_json(meta / "phaser.json", sidecar.to_json())

    def close(self) -> None:
        """Finish the current data file; the next episode opens another."""
        if self.parquet is not None and self.stream is not None:
            self.parquet.close()
            self.stream.flush()
            os.fsync(self.stream.fileno())
            self.stream.close()
        self.parquet = self.stream = None

    def _open(self, schema: pa.Schema) -> pq.ParquetWriter:
        if self.parquet is None:
            chunk, file = divmod(self.num_files, CHUNK_SIZE)
            path = self.root / DATA_PATH.format(chunk_index=chunk, file_index=file)
            path.parent.mkdir(parents=True, exist_ok=True)
            self.num_files += 1
            self.stream = path.open("wb")
            # PNG is compressed already; a codec would only cost time.
            self.parquet = pq.ParquetWriter(self.stream, schema, compression="none")
        return self.parquet

    def _row(self, episode: Episode, parts: Mapping[str, statistics.Statistics]) -> dict[str, Any]:
        chunk, file = divmod(self.num_files - 1, CHUNK_SIZE)
        return {
            "episode_index": len(self.rows),
            "tasks": [episode.instruction],
            "length": len(episode.actions),
            "data/chunk_index": chunk,
            "data/file_index": file,
            "dataset_from_index": self.num_frames,
            "dataset_to_index": self.num_frames + len(episode.actions),
            **{
                f"stats/{feature}/{name}": value.tolist()
                for feature, found in parts.items()
                for name, value in found.items()
            },
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
        }

    def _info(self) -> dict[str, Any]:
        return {
            "codebase_version": VERSION,
            "robot_type": self.shapes.robot_type,
            "total_episodes": len(self.rows),
            "total_frames": self.num_frames,
            "total_tasks": len(self.instructions),
            "chunks_size": CHUNK_SIZE,
            "data_files_size_in_mb": int(DATA_FILE_MB),
            "video_files_size_in_mb": 200,
            "fps": self.shapes.fps,
            "splits": {"train": f"0:{len(self.rows)}"},
            "data_path": DATA_PATH,
            "video_path": None,
            "features": features_of(self.shapes),
        }


def _check(episode: Episode, shapes: Shapes) -> None:
    length = len(episode.actions)
    expected: dict[str, tuple[int, ...]] = {}
    expected["observation.state"] = (length, len(shapes.state_names))
    expected["action"] = (length, len(shapes.action_names))
    found = {"observation.state": episode.states.shape, "action": episode.actions.shape}
    for name, size in shapes.cameras.items():
        expected[name] = (length, *size, 3)
    expected |= dict.fromkeys(shapes.counters, (length,))
    found |= {name: part.shape for name, part in episode.images.items()}
    found |= {name: part.shape for name, part in episode.counters.items()}
    if found != expected or length == 0:
        raise BadInput(f"episode of {episode.instruction!r} has {found}, expected {expected}")


def _write_table(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        pq.write_table(table, stream)
        stream.flush()
        os.fsync(stream.fileno())


def _put_in_place(draft: Path, root: Path) -> None:
    if root.exists():
        old = Path(tempfile.mkdtemp(dir=root.parent, prefix=f".{root.name}.", suffix=".old"))
        root.replace(old)
        shutil.rmtree(old)
    draft.replace(root)
    # mkdtemp makes a private folder; a cache may be shared between users of a group.
    root.chmod(0o755)
