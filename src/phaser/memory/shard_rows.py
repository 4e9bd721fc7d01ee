"""A shard with some of its rows only: they are copied as they are, never encoded again.

An image of a clip takes along the images before it that go, as it is predicted from them; once the
last image that needs them goes, they go too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Int64

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.memory import Bucket
from phaser.memory.leaf_reader import LeafReader
from phaser.memory.leaf_writer import BLOCK, Piece
from phaser.memory.shard import Shard
from phaser.memory.shard_writer import shard_text, write_pieces
from phaser.memory.stored_task import StoredTask
from phaser.memory.tensor_file import ArraySpec

_PER_PHASE = "prototype."
_PER_FRAME = ("demo", "frame", "phase", "rank")

Reason = Literal["forgotten", "evicted"]
"""Why rows go; the certificate counts both."""


def without_episode(shard: Shard, episode: int) -> StoredTask | None:
    """Write the shard that remains beside the old one; None where no frame remains."""
    demos = shard.file.arrays["demo"]
    rows = np.flatnonzero(demos != episode)
    if len(rows) == shard.task.num_frames:
        known = np.unique(demos)
        shown = ", ".join(map(str, known[:20])) + (", …" if len(known) > 20 else "")
        raise BadInput(
            f"task {shard.task.name!r} holds no frame of episode {episode}; it has episodes {shown}"
        )
    return with_rows(shard, rows, reason="forgotten") if len(rows) else None


def with_buckets(shard: Shard, buckets: Sequence[Bucket]) -> StoredTask:
    """Write a shard with the frames of these buckets only, beside the old one."""
    refs = [ref for bucket in buckets for ref in bucket.frames]
    rows = shard.rows(np.array([ref.demo for ref in refs]), np.array([ref.frame for ref in refs]))
    return with_rows(shard, np.sort(rows), reason="evicted")


def with_rows(shard: Shard, rows: Int64[np.ndarray, "kept"], *, reason: Reason) -> StoredTask:
    """Write a shard with these rows, in their order; its entry says why the others went."""
    arrays, task = shard.file.arrays, shard.task
    kept_phases = arrays["phase"][rows]
    phases = _phases(task, kept_phases, shard.row_bytes(rows), reason)
    holding = np.isin([row["index"] for row in task.holding()], kept_phases)
    pieces = _row_pieces(arrays, shard.leaves, rows)
    for name, values in arrays.items():
        if name.startswith(_PER_PHASE):
            pieces[name] = Piece.of(values[holding])
    entry: dict[str, Any] = {
        "name": task.name,
        "instruction": task.instruction,
        "num_frames": len(rows),
        "added": task.added,
        "source": task.source,
        "codec": task.codec,
        "phases": phases,
    }
    leaves = json.loads(shard.file.text["phaser"])["leaves"]
    stem = task.shard.rpartition("-")[0]
    text = shard_text(entry, shard.node, leaves)
    return write_pieces(shard.path.parent, stem, pieces, text, entry)


def _phases(
    task: StoredTask, kept_phases: np.ndarray, row_bytes: np.ndarray, reason: Reason
) -> tuple[Mapping[str, Any], ...]:
    """The certificate's rows as they are now, each with how many frames went, and why."""
    made: list[Mapping[str, Any]] = []
    for row in task.phases:
        mine = kept_phases == row["index"]
        gone = row["frames"] - int(mine.sum()) + row.get(reason, 0)
        now = {**row, "frames": int(mine.sum()), "bytes": int(row_bytes[mine].sum())}
        made.append({**now, reason: gone} if gone else now)
    return tuple(made)


def _row_pieces(
    arrays: Mapping[str, np.ndarray], leaves: tuple[LeafReader, ...], rows: np.ndarray
) -> dict[str, Piece]:
    pieces = {name: _rows_of(arrays[name], rows) for name in _PER_FRAME if name in arrays}
    for position, leaf in enumerate(leaves):
        name = f"leaf.{position}"
        if leaf.offsets is None:
            pieces[name] = _rows_of(leaf.values, rows)
            continue
        pieces |= _run_of_bytes(name, leaf, rows)
        for part, values in (("shapes", leaf.shapes), ("coded", leaf.coded)):
            if values is not None:
                pieces[f"{name}.{part}"] = _rows_of(values, rows)
        if leaf.after is not None:
            pieces[f"{name}.after"] = Piece.of(leaf.after_among(rows))
    return pieces


def _run_of_bytes(name: str, leaf: LeafReader, rows: np.ndarray) -> dict[str, Piece]:
    assert leaf.offsets is not None
    inside = leaf.offsets[0] >= 0 and leaf.offsets[-1] <= len(leaf.values)
    if not inside or (np.diff(leaf.offsets) < 0).any():
        raise BrokenFile(f"{leaf.where} has rows outside its bytes; restore the file")
    parts = leaf.parts(rows)
    offsets = np.concatenate([[0], np.cumsum(leaf.content_bytes(rows))])

    def blocks() -> Iterator[bytes]:
        for part in parts:
            yield from map(leaf.content, part)

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
