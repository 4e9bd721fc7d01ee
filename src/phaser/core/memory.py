"""What a finished task leaves behind: buckets of frames, one per phase, with their prototypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int64

from phaser.core.demonstration import Demo, FrameRef, Task
from phaser.core.errors import BadInput
from phaser.core.frame_refs import FrameRefs
from phaser.core.segmentation import Segmentation

FrameFeatures = Callable[[Demo], Float[np.ndarray, "frames vision"]]
"""Frozen visual features of every frame of a demonstration."""


@dataclass(frozen=True, order=True, slots=True)
class PhaseId:
    """One phase of one task, the same for all its demonstrations."""

    task: str
    index: int
    label: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Prototype:
    """P = (e_L, e_V, e_A), paper 3.3, kept raw: centring and scaling belong to the scoring rule."""

    language: Float[np.ndarray, "language"]
    vision: Float[np.ndarray, "vision"]
    action: Float[np.ndarray, "action"]
    motion: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Bucket:
    """The stored frames of one phase; distinct, never empty."""

    phase: PhaseId
    frames: Sequence[FrameRef]
    prototype: Prototype
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
    """The frames of all buckets, one after the other."""
    frames: Int64[np.ndarray, "frames"]
    prototypes: dict[str, Float[np.ndarray, "buckets dims"]] = field(default_factory=dict)
    """Stacked on first use; empty where the buckets differ in length."""

    @classmethod
    def of(cls, buckets: Sequence[Bucket]) -> BucketBlock:
        places = [_places(bucket.frames) for bucket in buckets]
        nothing = np.zeros(0, np.int64)
        return cls(
            buckets=tuple(buckets),
            sizes=np.array([len(bucket.frames) for bucket in buckets], np.int64),
            demos=np.concatenate([nothing, *(demos for demos, _ in places)]),
            frames=np.concatenate([nothing, *(frames for _, frames in places)]),
        )

    def stacked(self, part: str) -> Float[np.ndarray, "buckets dims"]:
        """One part of all prototypes (language, vision or action), in 64 bits."""
        if part not in self.prototypes:
            rows = [getattr(bucket.prototype, part) for bucket in self.buckets]
            self.prototypes[part] = np.stack(rows).astype(np.float64)
        return self.prototypes[part]


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """All buckets, in the order of the tasks that left them."""

    buckets: tuple[Bucket, ...] = ()
    blocks: tuple[BucketBlock, ...] = ()
    """The same buckets as arrays, task by task; made from the buckets where left out."""

    def __post_init__(self) -> None:
        if self.buckets and not self.blocks:
            object.__setattr__(self, "blocks", (BucketBlock.of(self.buckets),))

    @classmethod
    def of_blocks(cls, blocks: Iterable[BucketBlock]) -> Memory:
        """The buckets of these blocks, one after the other."""
        kept = tuple(blocks)
        return cls(tuple(bucket for block in kept for bucket in block.buckets), kept)

    def with_buckets(self, buckets: Iterable[Bucket]) -> Memory:
        new = tuple(buckets)
        if not new:
            return self
        return Memory((*self.buckets, *new), (*self.blocks, BucketBlock.of(new)))

    def by_task(self) -> dict[str, list[Bucket]]:
        """The buckets of each task, tasks in the order in which they were learnt."""
        found: dict[str, list[Bucket]] = {}
        for bucket in self.buckets:
            found.setdefault(bucket.phase.task, []).append(bucket)
        return found

    def sizes(self) -> Int64[np.ndarray, "buckets"]:
        """How many frames each bucket holds."""
        return np.concatenate([np.zeros(0, np.int64), *(block.sizes for block in self.blocks)])

    def stacked(self, part: str) -> Float[np.ndarray, "buckets dims"]:
        """One part of all prototypes (language, vision or action), in 64 bits."""
        return np.concatenate([block.stacked(part) for block in self.blocks])

    @property
    def num_frames(self) -> int:
        return int(self.sizes().sum())

    def frames_per_task(self) -> dict[str, int]:
        """How many frames each task holds: the budget that must be equal across methods."""
        counts: dict[str, int] = {}
        for bucket in self.buckets:
            counts[bucket.phase.task] = counts.get(bucket.phase.task, 0) + len(bucket.frames)
        return counts


def _places(
    frames: Sequence[FrameRef],
) -> tuple[Int64[np.ndarray, "frames"], Int64[np.ndarray, "frames"]]:
    if isinstance(frames, FrameRefs):
        return frames.demos.astype(np.int64), frames.frames.astype(np.int64)
    pairs = np.array([(ref.demo, ref.frame) for ref in frames], dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PreparedTask:
    """All that a method may see of a task: demonstrations, their phases and phase prototypes."""

    task: Task
    demos: tuple[Demo, ...]
    segmentations: tuple[Segmentation, ...]
    prototypes: tuple[Prototype, ...]
    features: FrameFeatures | None = None
    """Where they are cached; a rule that compares frames says what it does without them."""

    def __post_init__(self) -> None:
        if not self.demos:
            raise BadInput(f"task {self.task.name!r} has no demonstrations")
        for demo, segmentation in zip(self.demos, self.segmentations, strict=True):
            if segmentation.num_frames != demo.num_frames:
                raise BadInput(
                    f"{self.task.name!r} demo {demo.index}: {demo.num_frames} frames, "
                    f"segmentation of {segmentation.num_frames}"
                )
            if segmentation.labels != self.labels:
                raise BadInput(
                    f"{self.task.name!r} demo {demo.index}: phases {segmentation.labels}, "
                    f"expected {self.labels}"
                )
        if len(self.prototypes) != len(self.labels):
            raise BadInput(f"{len(self.labels)} phases but {len(self.prototypes)} prototypes")

    @property
    def labels(self) -> tuple[str, ...]:
        return self.segmentations[0].labels

    def phase_ids(self) -> tuple[PhaseId, ...]:
        return tuple(PhaseId(self.task.name, k, label) for k, label in enumerate(self.labels))
