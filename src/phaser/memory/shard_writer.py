"""A task's frames become one shard: rows in the order of the buckets, named by its own hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.files import write_atomically, writing
from phaser.core.memory import Bucket
from phaser.memory.clips import in_clips
from phaser.memory.codecs import ImageCodec
from phaser.memory.leaf_writer import LeafEncoder, LeafWriter, Piece, image_form
from phaser.memory.sample import NewTask, Sample
from phaser.memory.sample_form import SampleForm, check_forms
from phaser.memory.sample_tree import Node, split
from phaser.memory.stored_task import StoredTask, check_texts
from phaser.memory.tensor_file import header, in_writing_order, storable

SHARD_FORMAT = "phaser-memory-shard"
SHARD_VERSION = 2
REF_BYTES = 20
"""Episode (64 bits), frame, phase and rank (32 bits each)."""
_PROTOTYPE = ("language", "vision", "action", "motion")


def encoded_size(sample: Sample, codec: ImageCodec) -> int:
    """Bytes that one more frame like this takes in a shard; in clips, without neighbours."""
    return clip_size([sample], codec)


def clip_size(samples: Sequence[Sample], codec: ImageCodec) -> int:
    """Bytes that frames take which follow each other in one clip, where the codec makes clips."""
    total, encoders = REF_BYTES * len(samples), list[LeafEncoder]()
    for number, sample in enumerate(samples):
        leaves = split(sample)[1]
        encoders = encoders or [LeafEncoder(leaf, codec) for leaf in leaves]
        for encoder, leaf in zip(encoders, leaves, strict=True):
            total += encoder.num_bytes(encoder.encode(leaf, follows=number > 0))
    return total


def check_storable(new: NewTask, codec: ImageCodec) -> None:
    """Refuse all of a task that `write_task` would refuse, before anything is learnt or written.

    Every frame is looked at; one is encoded.
    """
    check_buckets(new)
    certificate_rows(new)
    _prototype_pieces(new.buckets)
    check_forms(new)
    first = new.sample_of(new.buckets[0].frames[0])
    if codec.stores_clips and not any(image_form(leaf, codec) for leaf in split(first)[1]):
        raise BadInput(
            f"task {new.task.name!r}: the codec {codec} makes clips of images, and its samples "
            "hold none (uint8, or k / 255 in floating point, 1 or 3 channels); use codec 'raw'"
        )
    encoded_size(first, codec)


def write_task(folder: Path, stem: str, new: NewTask, codec: ImageCodec) -> StoredTask:
    """Write the shard of a task; returns its entry for the manifest."""
    check_buckets(new)
    rows = certificate_rows(new)
    refs = [ref for bucket in new.buckets for ref in bucket.frames]
    with ExitStack() as stack, writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        node, leaves = _spool(refs, new, codec, folder, stack)
        pieces = {**_ref_pieces(refs, new.buckets), **_prototype_pieces(new.buckets)}
        row_bytes = np.full(len(refs), REF_BYTES, np.int64)
        for position, leaf in enumerate(leaves):
            pieces |= leaf.pieces(f"leaf.{position}")
            row_bytes += leaf.row_bytes()
        edges = np.cumsum([0, *(len(bucket.frames) for bucket in new.buckets)])[:-1]
        held = iter(np.add.reduceat(row_bytes, edges).tolist())
        entry: dict[str, Any] = {
            "name": new.task.name,
            "instruction": new.task.instruction,
            "num_frames": len(refs),
            "added": datetime.now(UTC).isoformat(timespec="seconds"),
            "source": dict(new.source),
            "codec": codec,
            "phases": tuple({**row, "bytes": next(held) if row["frames"] else 0} for row in rows),
        }
        text = shard_text(entry, node, [leaf.describe() for leaf in leaves])
        return write_pieces(folder, stem, pieces, text, entry)


def shard_text(
    entry: Mapping[str, Any], node: Node, leaves: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """What the header says beside the arrays: enough to write the task's entry anew.

    The time is left out, so that the same task always gives the same bytes.
    """
    description = {
        "format": SHARD_FORMAT,
        "version": SHARD_VERSION,
        "task": entry["name"],
        "codec": asdict(entry["codec"]),
        "entry": {
            "instruction": entry["instruction"],
            "source": dict(entry["source"]),
            "phases": list(entry["phases"]),
        },
        "structure": node,
        "leaves": list(leaves),
    }
    return {"phaser": json.dumps(description, sort_keys=True, separators=(",", ":"))}


def certificate_rows(new: NewTask) -> list[dict[str, Any]]:
    """The certificate's rows of a new task, which must tell what the buckets hold."""
    held = {bucket.phase.index: bucket for bucket in new.buckets}
    rows = [{key: row[key] for key in row if key not in ("task", "bytes")} for row in new.phases]
    if not rows:
        return [
            {"index": index, "label": bucket.phase.label, "frames": len(bucket.frames)}
            for index, bucket in sorted(held.items())
        ]
    told = {(row["index"], row["label"], row["frames"]) for row in rows if row["frames"]}
    if told != {(index, one.phase.label, len(one.frames)) for index, one in held.items()}:
        raise BadInput(f"task {new.task.name!r}: the rows of its phases do not fit its buckets")
    return rows


def write_pieces(
    folder: Path,
    stem: str,
    pieces: Mapping[str, Piece],
    text: Mapping[str, str],
    entry: Mapping[str, Any],
) -> StoredTask:
    """Write one file of these arrays; its name ends with the first digits of its SHA-256.

    entry: all that the manifest says of the task but its file.
    """
    specs = {name: piece.spec for name, piece in pieces.items()}
    start = header(specs, text)

    def blocks() -> Iterator[bytes | memoryview]:
        yield start
        for name in in_writing_order(specs):
            yield from pieces[name].blocks()

    digest = hashlib.sha256()
    for block in blocks():
        digest.update(block)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            for block in blocks():
                stream.write(block)

    name = f"{stem}-{digest.hexdigest()[:12]}.safetensors"
    write_atomically(folder / name, write)
    num_bytes = len(start) + sum(spec.num_bytes for spec in specs.values())
    return StoredTask(**entry, shard=name, num_bytes=num_bytes, sha256=digest.hexdigest())


def check_buckets(new: NewTask) -> None:
    """Refuse frames of another task, frames kept twice, and prototypes that do not match."""
    name = new.task.name
    check_texts(name, new.task.instruction, new.source)
    if not new.buckets:
        raise BadInput(f"task {name!r} leaves no frames; a memory stores only tasks that do")
    indices = [bucket.phase.index for bucket in new.buckets]
    if indices != sorted(set(indices)) or indices[0] < 0:
        raise BadInput(f"task {name!r} has buckets of the phases {indices}; expected rising order")
    if any(bucket.phase.task != name for bucket in new.buckets):
        raise BadInput(f"task {name!r} was given buckets of another task")
    seen: set[tuple[int, int]] = set()
    for ref in (ref for bucket in new.buckets for ref in bucket.frames):
        in_range = -(1 << 63) <= ref.demo < 1 << 63 and 0 <= ref.frame < 1 << 31
        if ref.task != name or not in_range:
            raise BadInput(
                f"task {name!r} cannot keep frame {ref.frame} of episode {ref.demo}; expected "
                "an episode number of 64 bits and a frame number below 2**31"
            )
        if (ref.demo, ref.frame) in seen:
            raise BadInput(f"task {name!r} keeps frame {ref.frame} of episode {ref.demo} twice")
        seen.add((ref.demo, ref.frame))


def _spool(
    refs: Sequence[FrameRef], new: NewTask, codec: ImageCodec, folder: Path, stack: ExitStack
) -> tuple[Node, list[LeafWriter]]:
    form: SampleForm | None = None
    writers: list[LeafWriter] = []
    clips = in_clips(new.buckets) if codec.stores_clips else [(ref,) for ref in refs]
    order: list[int] | None = None
    if codec.stores_clips:
        places = {ref: place for place, ref in enumerate(ref for clip in clips for ref in clip)}
        order = [places[ref] for ref in refs]
    for ref, follows in ((ref, at > 0) for clip in clips for at, ref in enumerate(clip)):
        sample = new.sample_of(ref)
        form = form or SampleForm.of(ref, sample)
        leaves = form.leaves(ref, sample)
        writers = writers or [LeafWriter(leaf, codec, folder, stack, order) for leaf in leaves]
        for writer, leaf in zip(writers, leaves, strict=True):
            writer.add(leaf, follows=follows)
    return ({} if form is None else form.node), writers


def _ref_pieces(refs: Sequence[FrameRef], buckets: Sequence[Bucket]) -> dict[str, Piece]:
    counts = [len(bucket.frames) for bucket in buckets]
    phases = np.repeat([bucket.phase.index for bucket in buckets], counts)
    ranks = np.concatenate([np.asarray(bucket.ranks, np.int32) for bucket in buckets])
    return {
        "demo": Piece.of(np.fromiter((ref.demo for ref in refs), np.int64)),
        "frame": Piece.of(np.fromiter((ref.frame for ref in refs), np.int32)),
        "phase": Piece.of(phases.astype(np.int32)),
        "rank": Piece.of(ranks),
    }


def _prototype_pieces(buckets: Sequence[Bucket]) -> dict[str, Piece]:
    pieces: dict[str, Piece] = {}
    for part in _PROTOTYPE:
        rows = [np.asarray(getattr(bucket.prototype, part)) for bucket in buckets]
        rows = [row.astype(np.int64) for row in rows] if part == "motion" else rows
        alike = {(row.shape, row.dtype) for row in rows}
        if len(alike) != 1 or not storable(rows[0].dtype) or rows[0].ndim != 1:
            raise BadInput(
                f"task {buckets[0].phase.task!r} has {part} prototypes of several shapes or types "
                f"({sorted(str(one) for one in alike)}); expected one vector type for all phases"
            )
        if not np.isfinite(np.stack(rows)).all():
            raise BadInput(
                f"task {buckets[0].phase.task!r} has {part} prototypes with NaN or infinity; "
                "expected finite numbers in actions and encoders"
            )
        pieces[f"prototype.{part}"] = Piece.of(np.stack(rows))
    return pieces
