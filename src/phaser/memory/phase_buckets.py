"""Keep equally many frames of every phase, however short it is (paper 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.memory import Bucket, PreparedTask
from phaser.core.streams import Stream
from phaser.memory.allocation import allocate
from phaser.memory.frames import check_budget, frames_of_phase, into_buckets
from phaser.memory.spread import even_frames, random_frames


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseBuckets:
    """Phase-centric capacity allocation: a fixed, equal share per phase."""

    frames_per_task: int = 20
    stride: int = 3
    """Δ of the paper: neighbouring frames are nearly the same, one in three is a candidate."""
    within: Literal["even", "random"] = "even"
    """Frames inside a phase: on a grid over its progress, or uniformly at random (the paper)."""
    zero_phase: int | None = None
    """The zero-budget control: this phase keeps nothing, its siblings share its frames."""

    def __post_init__(self) -> None:
        check_budget(self.frames_per_task)
        if self.stride < 1:
            raise BadInput(f"stride {self.stride}; expected at least 1")
        if self.within not in ("even", "random"):
            raise BadInput(f"within {self.within!r}; expected 'even' or 'random'")

    def select(self, task: PreparedTask, stream: Stream) -> list[Bucket]:
        candidates = [
            frames_of_phase(task, phase, stride=self.stride) for phase in range(len(task.labels))
        ]
        capacities = [sum(len(frames) for frames in per_demo) for per_demo in candidates]
        try:
            counts = allocate(self.frames_per_task, capacities, zero=self.zero_phase)
        except BadInput as error:
            raise BadInput(f"task {task.task.name!r}: {error}") from error
        choose = even_frames if self.within == "even" else random_frames
        rng = stream()
        chosen: list[FrameRef] = []
        for available, count in zip(candidates, counts, strict=True):
            chosen += choose(available, count, rng) if count else []
        return into_buckets(task, chosen)
