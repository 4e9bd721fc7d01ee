"""What a finished task leaves behind: buckets of frames, one per phase, with their prototypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64

from phaser.core.buckets import Bucket, BucketBlock, PhaseId, Prototype, merged
from phaser.core.demonstration import Demo, Task
from phaser.core.errors import BadInput
from phaser.core.segmentation import Segmentation, phase_names

__all__ = [
    "Bucket",
    "BucketBlock",
    "FrameFeatures",
    "Memory",
    "PhaseId",
    "PreparedTask",
    "Prototype",
]

FrameFeatures = Callable[[Demo], Float[np.ndarray, "frames vision"]]
"""Frozen visual features of every frame of a demonstration."""


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """All buckets, in the order of the tasks that left them."""

    buckets: tuple[Bucket, ...] = ()
    """One bucket per stored phase."""
    blocks: tuple[BucketBlock, ...] = ()
    """The same buckets as arrays; made from the buckets where left out."""

    def __post_init__(self) -> None:
        if self.buckets and not self.blocks:
            object.__setattr__(self, "blocks", (BucketBlock.of(self.buckets),))

    def with_block(self, block: BucketBlock) -> Memory:
        """The memory with the buckets of a block more."""
        return Memory((*self.buckets, *block.buckets), merged((*self.blocks, block)))

    def with_buckets(self, buckets: Iterable[Bucket]) -> Memory:
        """The memory with some buckets more; this one stays as it is."""
        new = tuple(buckets)
        return self.with_block(BucketBlock.of(new)) if new else self

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
        """How many frames all buckets hold."""
        return sum(len(block.demos) for block in self.blocks)

    def frames_per_task(self) -> dict[str, int]:
        """How many frames each task holds: the budget that must be equal across methods."""
        counts: dict[str, int] = {}
        for bucket in self.buckets:
            counts[bucket.phase.task] = counts.get(bucket.phase.task, 0) + len(bucket.frames)
        return counts


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PreparedTask:
    """All that a method may see of a task: demonstrations, their phases and phase prototypes."""

    task: Task
    """Its name and instruction."""
    demos: tuple[Demo, ...]
    """Its demonstrations, at least one."""
    segmentations: tuple[Segmentation, ...]
    """The phases of each demonstration. Phases of one name are one phase, in all demonstrations;
    one of them may lack it or have it several times."""
    prototypes: tuple[Prototype, ...]
    """One per phase."""
    features: FrameFeatures | None = None
    """Gives the visual features of a demonstration's frames; None where nobody computed them.
    A rule that compares frames says what it does without them."""

    def __post_init__(self) -> None:
        if not self.demos:
            raise BadInput(f"task {self.task.name!r} has no demonstrations")
        for demo, segmentation in zip(self.demos, self.segmentations, strict=True):
            if segmentation.num_frames != demo.num_frames:
                raise BadInput(
                    f"{self.task.name!r} demo {demo.index}: {demo.num_frames} frames, "
                    f"segmentation of {segmentation.num_frames}"
                )
        if len(self.prototypes) != len(self.labels):
            raise BadInput(f"{len(self.labels)} phases but {len(self.prototypes)} prototypes")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the phases, in order."""
        return phase_names(self.segmentations)

    def phase_ids(self) -> tuple[PhaseId, ...]:
        """The phases of the task, in order."""
        return tuple(PhaseId(self.task.name, k, label) for k, label in enumerate(self.labels))
