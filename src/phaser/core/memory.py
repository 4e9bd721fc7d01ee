"""What a finished task leaves behind: buckets of frames, one per phase, with their prototypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

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


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """All buckets, in the order of the tasks that left them."""

    buckets: tuple[Bucket, ...] = ()

    def with_buckets(self, buckets: Iterable[Bucket]) -> Memory:
        return Memory(self.buckets + tuple(buckets))

    def by_task(self) -> dict[str, list[Bucket]]:
        """The buckets of each task, tasks in the order in which they were learnt."""
        found: dict[str, list[Bucket]] = {}
        for bucket in self.buckets:
            found.setdefault(bucket.phase.task, []).append(bucket)
        return found

    @property
    def num_frames(self) -> int:
        return sum(len(bucket.frames) for bucket in self.buckets)

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
