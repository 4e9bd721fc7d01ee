"""A shard without one episode: the other rows are copied as they are, never encoded again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Int64

from phaser.core.errors import BadInput, BrokenFile
from phaser.memory.leaf_reader import LeafReader
from phaser.memory.leaf_writer import BLOCK, Piece
from phaser.memory.manifest import StoredTask
from phaser.memory.shard import Shard
from phaser.memory.shard_writer import REF_BYTES, write_pieces
from phaser.memory.tensor_file import ArraySpec

_PER_PHASE = "prototype."


def without_episode(shard: Shard, episode: int) -> StoredTask | None:
    """Write the shard that remains beside the old one; None where no frame remains."""
    arrays, task = shard.file.arrays, shard.task
    rows = np.flatnonzero(arrays["demo"] != episode)
    if len(rows) == task.num_frames:
        known = np.unique(arrays["demo"])
        shown = ", ".join(map(str, known[:20])) + (", …" if len(known) > 20 else "")
        raise BadInput(
            f"task {task.name!r} holds no frame of episode {episode}; it has episodes {shown}"
        )
    if len(rows) == 0:
        return None
    kept_phases = arrays["phase"][rows]
    phases = _phases(task, kept_phases, _row_bytes(shard)[rows])
    holding = np.isin([row["index"] for row in task.holding()], kept_phases)
    pieces = _row_pieces(arrays, shard.leaves, rows)
    for name, values in arrays.items():
        if name.startswith(_PER_PHASE):
            pieces[name] = Piece.of(values[holding])
    stem = task.shard.rpartition("-")[0]
    written = write_pieces(shard.path.parent, stem, pieces, shard.file.text)
    return replace(
        task,
        shard=written.name,
        num_bytes=written.num_bytes,
        sha256=written.sha256,
        num_frames=len(rows),
        phases=phases,
    )


def _phases(
    task: StoredTask, kept_phases: np.ndarray, row_bytes: np.ndarray
) -> tuple[Mapping[str, Any], ...]:
    """The certificate's rows as they are now, each with how many frames were forgotten."""
    made: list[Mapping[str, Any]] = []
    for row in task.phases:
        mine = kept_phases == row["index"]
        gone = row["frames"] - int(mine.sum()) + row.get("forgotten", 0)
        now = {**row, "frames": int(mine.sum()), "bytes": int(row_bytes[mine].sum())}
        made.append({**now, "forgotten": gone} if gone else now)
    return tuple(made)


def _row_bytes(shard: Shard) -> Int64[np.ndarray, "rows"]:
    total = np.full(shard.task.num_frames, REF_BYTES, np.int64)
    for leaf in shard.leaves:
        total += leaf.row_bytes()
    return total


def _row_pieces(
    arrays: Mapping[str, np.ndarray], leaves: tuple[LeafReader, ...], rows: np.ndarray
) -> dict[str, Piece]:
    pieces = {name: _rows_of(arrays[name], rows) for name in ("demo", "frame", "phase")}
    for position, leaf in enumerate(leaves):
        name = f"leaf.{position}"
        if leaf.offsets is None:
            pieces[name] = _rows_of(leaf.values, rows)
            continue
        pieces |= _run_of_bytes(name, leaf, rows)
        for part, values in (("shapes", leaf.shapes), ("coded", leaf.coded)):
            if values is not None:
                pieces[f"{name}.{part}"] = _rows_of(values, rows)
    return pieces


def _run_of_bytes(name: str, leaf: LeafReader, rows: np.ndarray) -> dict[str, Piece]:
    assert leaf.offsets is not None
    begins, ends = leaf.offsets[:-1][rows], leaf.offsets[1:][rows]
    if (begins > ends).any() or begins.min() < 0 or ends.max() > len(leaf.values):
        raise BrokenFile(f"{leaf.where} has rows outside its bytes; restore the file")
    offsets = np.concatenate([[0], np.cumsum(ends - begins)])

    def blocks() -> Iterator[bytes]:
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            yield leaf.values[begin:end].tobytes()

    spec = ArraySpec(dtype=np.dtype(np.uint8), shape=(int(offsets[-1]),))
    return {name: Piece(spec=spec, blocks=blocks), f"{name}.offsets": Piece.of(offsets)}


def _rows_of(values: np.ndarray, rows: np.ndarray) -> Piece:
    """Some rows of an array, copied in blocks: a shard need not fit into memory."""
    step = max(1, BLOCK // max(1, values[:1].nbytes))

    def blocks() -> Iterator[bytes]:
        for start in range(0, len(rows), step):
            yield values[rows[start : start + step]].tobytes()

    spec = ArraySpec(dtype=values.dtype, shape=(len(rows), *values.shape[1:]))
    return Piece(spec=spec, blocks=blocks)
