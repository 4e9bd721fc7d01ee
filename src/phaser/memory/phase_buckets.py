"""Keep frames of every phase, however short it is (paper 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.memory import Bucket, PreparedTask
from phaser.core.streams import Stream
from phaser.memory.allocation import allocate, allocate_by_root
from phaser.memory.farthest import farthest_points
from phaser.memory.frame_vectors import frame_vectors
from phaser.memory.frames import DemoFrames, check_budget, frames_of_phase, into_buckets
from phaser.memory.herding import herding_order
from phaser.memory.spread import denser_at_changes, even_frames, random_frames

Shares = Literal["equal", "root"]
Within = Literal["even", "random", "spread", "herding", "boundary"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseBuckets:
    """Phase-centric capacity allocation: every phase has a share, however short it is."""

    frames_per_task: int = 20
    stride: int = 3
    """Δ of the paper: neighbouring frames are nearly the same, one in three is a candidate."""
    shares: Shares = "equal"
    """As many frames of every phase (equal, the paper), or by the square root of its length (root):
    a short phase still has more than its time, a long one loses less."""
    within: Within = "even"
    """Frames inside a phase: on a grid over its progress (even), uniformly at random (random, the
    paper), as unlike each other as possible (spread), their mean closest to the phase's (herding),
    or on a grid that is denser where the phase changes into another (boundary). Spread and herding
    compare frozen vision features where they are cached, else state and action; both draw nothing
    at random."""
    zero_phase: int | None = None
    """The zero-budget control: this phase keeps nothing, its siblings share its frames."""

    def __post_init__(self) -> None:
        check_budget(self.frames_per_task)
        if self.stride < 1:
            raise BadInput(f"stride {self.stride}; expected at least 1")
        if self.shares not in get_args(Shares):
            raise BadInput(f"shares {self.shares!r}; expected one of {', '.join(get_args(Shares))}")
        if self.shares == "root" and self.zero_phase is not None:
            raise BadInput("the zero-budget control needs equal shares; leave zero_phase out")
        if self.within not in get_args(Within):
            raise BadInput(f"within {self.within!r}; expected one of {', '.join(get_args(Within))}")

    def select(self, task: PreparedTask, stream: Stream) -> list[Bucket]:
        candidates = [
            frames_of_phase(task, phase, stride=self.stride) for phase in range(len(task.labels))
        ]
        capacities = [sum(len(frames) for frames in per_demo) for per_demo in candidates]
        try:
            counts = (
                allocate(self.frames_per_task, capacities, zero=self.zero_phase)
                if self.shares == "equal"
                else allocate_by_root(self.frames_per_task, capacities)
            )
        except BadInput as error:
            raise BadInput(f"task {task.task.name!r}: {error}") from error
        rng = stream()
        chosen: list[FrameRef] = []
        for phase, count in enumerate(counts):
            if count:
                chosen += self._choose(task, phase, candidates[phase], count, rng)
        return into_buckets(task, chosen)

    def _choose(
        self,
        task: PreparedTask,
        phase: int,
        available: DemoFrames,
        count: int,
        rng: np.random.Generator,
    ) -> list[FrameRef]:
        if self.within == "random":
            return random_frames(available, count, rng)
        if self.within == "even":
            return even_frames(available, count, rng)
        if self.within == "boundary":
            warp = denser_at_changes(before=phase > 0, after=phase < len(task.labels) - 1)
            return even_frames(available, count, rng, warp=warp)
        order = farthest_points if self.within == "spread" else herding_order
        pool = [frame for frames in available for frame in frames]
        return [pool[at] for at in order(frame_vectors(task, available), count)]
