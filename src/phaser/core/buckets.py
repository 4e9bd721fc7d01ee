"""Buckets of stored frames, one per phase, and the same buckets as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int32, Int64

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.frame_refs import FrameRefs


@dataclass(frozen=True, order=True, slots=True)
class PhaseId:
    """One phase of one task, the same for all its demonstrations."""

    task: str
    """The name of the task."""
    index: int
    """Its place among the phases of the task, from 0."""
    label: str
    """Its name, such as grasp."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Prototype:
    """A phase's prototype P = (e_L, e_V, e_A), paper 3.3: routing compares phases by it.

    The vectors are kept as they were measured; the rule that scores them centres and scales.
    """

    language: Float[np.ndarray, "language"]
    """The instruction, encoded; the same for all phases of a task."""
    vision: Float[np.ndarray, "vision"]
    """The mean visual features of its frames."""
    action: Float[np.ndarray, "action"]
    """The mean action of its frames."""
    motion: tuple[int, ...]
    """Positions of the action's numbers that move the arm."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Bucket:
    """The stored frames of one phase; distinct, never empty."""

    phase: PhaseId
    """The phase that the frames belong to."""
    frames: Sequence[FrameRef]
    """The frames that stay."""
    prototype: Prototype
    """What the phase is like, for rules that compare phases."""
    ranks: Sequence[int] = ()
    """For every frame its place in the order in which the keep rule would keep frames if it had
    room for fewer; left out, the frames' own order. Frames of high rank go first."""

    def __post_init__(self) -> None:
        # Frames in arrays were compared as arrays where they were read; making an object of each
        # would cost more than everything else about opening a memory.
        distinct = isinstance(self.frames, FrameRefs) or len(set(self.frames)) == len(self.frames)
        if not self.frames or not distinct:
            raise BadInput(f"bucket {self.phase} needs distinct frames, has {len(self.frames)}")
        if not len(self.ranks):
            object.__setattr__(self, "ranks", range(len(self.frames)))
        if len(self.ranks) != len(self.frames):
            raise BadInput(
                f"bucket {self.phase} has {len(self.frames)} frames and {len(self.ranks)} ranks"
            )

    def with_frames(self, places: Sequence[int]) -> Bucket:
        """The same bucket with the frames at these places only, in their order."""
        return replace(
            self,
            frames=tuple(self.frames[place] for place in places),
            ranks=tuple(self.ranks[place] for place in places),
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BucketBlock:
    """Some buckets in a row as arrays: rules that look at all phases compute with these."""

    buckets: tuple[Bucket, ...]
    sizes: Int64[np.ndarray, "buckets"]
    demos: Int64[np.ndarray, "frames"]
    """Demonstrations of the frames of all buckets, one after the other."""
    frames: Int64[np.ndarray, "frames"]
    tasks: tuple[str, ...]
    """The tasks that the buckets are of, each once."""
    codes: Int32[np.ndarray, "buckets"]
    """For every bucket the place of its task in `tasks`."""
    prototypes: dict[str, Float[np.ndarray, "buckets dims"]] = field(default_factory=dict)
    """Stacked prototypes by part, made when first asked for."""

    @classmethod
    def of(cls, buckets: Sequence[Bucket]) -> BucketBlock:
        places = [_places(bucket.frames) for bucket in buckets]
        tasks: dict[str, int] = {}
        codes = [tasks.setdefault(bucket.phase.task, len(tasks)) for bucket in buckets]
        nothing = np.zeros(0, np.int64)
        return cls(
            buckets=tuple(buckets),
            sizes=np.array([len(bucket.frames) for bucket in buckets], np.int64),
            demos=np.concatenate([nothing, *(demos for demos, _ in places)]),
            frames=np.concatenate([nothing, *(frames for _, frames in places)]),
            tasks=tuple(tasks),
            codes=np.array(codes, np.int32),
        )

    def __add__(self, other: BucketBlock) -> BucketBlock:
        """Both, one after the other."""
        tasks = {name: code for code, name in enumerate(self.tasks)}
        moved = [tasks.setdefault(name, len(tasks)) for name in other.tasks]
        parts = set(self.prototypes) | set(other.prototypes)
        return BucketBlock(
            buckets=self.buckets + other.buckets,
            sizes=np.concatenate([self.sizes, other.sizes]),
            demos=np.concatenate([self.demos, other.demos]),
            frames=np.concatenate([self.frames, other.frames]),
            tasks=tuple(tasks),
            codes=np.concatenate([self.codes, np.array(moved, np.int32)[other.codes]]),
            prototypes={
                part: np.concatenate([self.stacked(part), other.stacked(part)])
                for part in parts
                if self.width(part) == other.width(part)
            },
        )

    def stacked(self, part: str) -> Float[np.ndarray, "buckets dims"]:
        """One part of all prototypes (language, vision or action), in 64 bits."""
        if part not in self.prototypes:
            rows = [getattr(bucket.prototype, part) for bucket in self.buckets]
            self.prototypes[part] = np.stack(rows).astype(np.float64)
        return self.prototypes[part]

    def width(self, part: str) -> int:
        """How many numbers one part of a prototype has, in the last bucket."""
        return len(getattr(self.buckets[-1].prototype, part))


def merged(blocks: Sequence[BucketBlock]) -> tuple[BucketBlock, ...]:
    """The blocks with small ones at the end joined, so that there are never many: a block is at
    least twice as long as the one after it."""
    kept = list(blocks)
    while len(kept) > 1 and len(kept[-2].buckets) < 2 * len(kept[-1].buckets):
        last = kept.pop()
        kept[-1] = kept[-1] + last
    return tuple(kept)


def _places(
    frames: Sequence[FrameRef],
) -> tuple[Int64[np.ndarray, "frames"], Int64[np.ndarray, "frames"]]:
    if isinstance(frames, FrameRefs):
        return frames.demos.astype(np.int64), frames.frames.astype(np.int64)
    pairs = np.array([(ref.demo, ref.frame) for ref in frames], dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]
