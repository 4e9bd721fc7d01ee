"""Keep frames of every phase, however short it is (paper 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.memory import Bucket, PreparedTask
from phaser.core.ports import Keep, first_ranked
from phaser.core.ranges import COUNT, at_least, check_ranges
from phaser.core.streams import Stream
from phaser.memory.allocation import allocate, allocate_above_floor, allocate_by_root
from phaser.memory.farthest import farthest_points
from phaser.memory.frame_vectors import frame_vectors
from phaser.memory.frames import DemoFrames, frames_of_phase, into_buckets
from phaser.memory.herding import herding_order
from phaser.memory.spread import denser_at_changes, even_frames, random_frames, spread_ranks

Shares = Literal["equal", "root", "floor"]
Within = Literal["even", "random", "spread", "herding", "boundary"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseBuckets(Keep):
    """Phase-centric capacity allocation: every phase has a share, however short it is."""

    stride: int = 3
    """Δ of the paper: neighbouring frames are nearly the same, one in three is a candidate."""
    shares: Shares = "equal"
    """As many frames of every phase (equal, the paper); by the square root of its length (root): a
    short phase still has more than its time, a long one loses less; or half in equal parts and half
    by length (floor), close to even spacing where one phase dominates."""
    within: Within = "even"
    """Frames inside a phase: on a grid over its progress (even), uniformly at random (random, the
    paper), as unlike each other as possible (spread), their mean closest to the phase's (herding),
    or on a grid that is denser where the phase changes into another (boundary). Spread and herding
    compare frozen vision features where they are cached, else state and action; both draw nothing
    at random."""
    zero_phase: int | None = None
    """The zero-budget control: this phase keeps nothing, its siblings share its frames."""

    def __post_init__(self) -> None:
        check_ranges(self, stride=COUNT, zero_phase=at_least(0, whole=True, or_none=True))
        if self.shares not in get_args(Shares):
            raise BadInput(f"shares {self.shares!r}; expected one of {', '.join(get_args(Shares))}")
        if self.shares != "equal" and self.zero_phase is not None:
            raise BadInput("the zero-budget control needs equal shares; leave zero_phase out")
        if self.within not in get_args(Within):
            raise BadInput(f"within {self.within!r}; expected one of {', '.join(get_args(Within))}")

    @property
    def needs_features(self) -> bool:
        return self.within in ("spread", "herding")

    @property
    def shares_equally(self) -> bool:
        return self.shares == "equal"

    def candidates(self, task: PreparedTask) -> list[int]:
        return [sum(map(len, frames)) for frames in self._available(task)]

    def most(self, task: PreparedTask) -> int:
        """All candidates, but those of the phase that keeps nothing."""
        counts = self.candidates(task)
        return sum(count for phase, count in enumerate(counts) if phase != self.zero_phase)

    def fewest(self, num_phases: int) -> int:
        """One frame of every phase that may hold any."""
        return max(1, num_phases - (self.zero_phase is not None))

    def fewest_of(self, buckets: Sequence[Bucket]) -> int:
        """One frame of every stored phase."""
        return len(buckets)

    def select(self, task: PreparedTask, num_frames: int, stream: Stream) -> list[Bucket]:
        available = self._available(task)
        capacities = [sum(map(len, frames)) for frames in available]
        try:
            counts = self._shared(num_frames, capacities, zero=self.zero_phase)
        except BadInput as error:
            more = self._how_to_offer_more() if num_frames > self.most(task) else ""
            raise BadInput(f"task {task.task.name!r}: {error}{more}") from error
        rng = stream()
        chosen: list[FrameRef] = []
        ranks: list[int] = []
        for phase, count in enumerate(counts):
            if count:
                chosen += self._choose(task, phase, available[phase], count, rng)
                ranks += self._ranks(count)
        return into_buckets(task, chosen, ranks)

    def shrink(self, buckets: Sequence[Bucket], num_frames: int) -> list[Bucket]:
        """Every phase keeps its share of what is left, the frames of the lowest ranks."""
        counts = self._shared(num_frames, [len(bucket.frames) for bucket in buckets])
        return [
            kept
            for bucket, count in zip(buckets, counts, strict=True)
            for kept in first_ranked([bucket], count)
        ]

    def _available(self, task: PreparedTask) -> list[DemoFrames]:
        return [
            frames_of_phase(task, phase, stride=self.stride) for phase in range(len(task.labels))
        ]

    def _how_to_offer_more(self) -> str:
        if self.stride == 1:
            return ""
        return (
            f"; one frame in {self.stride} is a candidate, all of them are with a stride of 1 "
            "(--method.keep.stride 1, PhaseBuckets(stride=1))"
        )

    def _shared(
        self, total: int, capacities: Sequence[int], *, zero: int | None = None
    ) -> list[int]:
        if self.shares == "equal":
            return allocate(total, capacities, zero=zero)
        unequal = allocate_by_root if self.shares == "root" else allocate_above_floor
        return unequal(total, capacities)

    def _ranks(self, count: int) -> list[int]:
        """Frames on a grid give way so that the rest stays even; others in their own order."""
        return spread_ranks(count) if self.within in ("even", "boundary") else list(range(count))

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
