"""Encoded bytes of frames that are kept together: what a budget in bytes counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from phaser.core.demonstration import FrameRef
from phaser.core.memory import Bucket, Memory
from phaser.memory.clips import in_clips
from phaser.memory.codecs import ImageCodec
from phaser.memory.sample import Sample
from phaser.memory.shard_writer import clip_size
from phaser.memory.store import Store

Piece = tuple[FrameRef, ...]
"""Frames that are encoded together: one image, or the images of a clip."""


def one_by_one(buckets: Iterable[Bucket]) -> Iterator[Piece]:
    """Every frame is a piece of its own."""
    return ((frame,) for bucket in buckets for frame in bucket.frames)


@dataclass(frozen=True, kw_only=True, slots=True)
class PieceSizes:
    """The sum over pieces; each is measured once, when it is first asked for."""

    size_of: Callable[[Piece], int]
    pieces: Callable[[Sequence[Bucket]], Iterator[Piece]] = one_by_one
    known: dict[Piece, int] = field(default_factory=dict)

    def total(self, buckets: Sequence[Bucket], *, stop_above: int | None = None) -> int:
        """Their bytes in all, or any number above `stop_above` as soon as that is certain."""
        pieces = list(self.pieces(buckets))
        total = sum(self.known.get(piece, 0) for piece in pieces)
        for piece in pieces:
            if stop_above is not None and total > stop_above:
                break
            if piece not in self.known:
                self.known[piece] = self.size_of(piece)
                total += self.known[piece]
        return total


def kept_sizes(
    task: str,
    sample_of: Callable[[FrameRef], Sample],
    codec: ImageCodec,
    *,
    store: Callable[[], Store],
) -> PieceSizes:
    """Bytes of frames of a task that is about to enter a memory, and of those in it already.

    Args:
        task: the new task.
        sample_of: the sample of a frame of it.
        codec: how its images are encoded.
        store: the memory; asked for where frames of other tasks are.
    """

    def pieces(buckets: Sequence[Bucket]) -> Iterator[Piece]:
        for name, mine in Memory(tuple(buckets)).by_task().items():
            if name != task:
                # Of a clip some frames may go, so all that stay are looked at together.
                yield tuple(frame for bucket in mine for frame in bucket.frames)
            elif codec.stores_clips:
                yield from in_clips(mine)
            else:
                yield from one_by_one(mine)

    def size_of(piece: Piece) -> int:
        if piece[0].task != task:
            return sum(store().frame_bytes(piece).values())
        return clip_size([sample_of(ref) for ref in piece], codec)

    return PieceSizes(size_of=size_of, pieces=pieces)
