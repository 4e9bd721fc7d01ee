"""Draw stored frames: first a bucket by its probability, then a frame of it, all alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int64

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.measurements import Passes
from phaser.core.memory import Bucket, Memory
from phaser.core.streams import Stream
from phaser.routing.distinct import bucket_counts, distinct_places
from phaser.routing.flat_frames import FlatFrames


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WeightedSampler:
    """Draws by fixed weights; the frames of a step depend on the stream and the step alone."""

    memory: Memory
    probabilities: Float[np.ndarray, "buckets"]
    priorities: Float[np.ndarray, "buckets"]
    """What the probabilities were made from, for the report."""
    stream: Stream
    uniform_share: float = 0.0
    """Share of the draws that went to all stored frames alike, whatever the priorities."""
    edges: Float[np.ndarray, "buckets"] = field(init=False, repr=False)
    """Cumulative probabilities: a draw falls into the bucket whose edge is the first above it."""
    sizes: Int64[np.ndarray, "buckets"] = field(init=False, repr=False)
    starts: Int64[np.ndarray, "buckets"] = field(init=False, repr=False)
    """Where a bucket's frames begin among those of all buckets."""
    frames: FlatFrames = field(init=False, repr=False)
    num_reachable: int = field(init=False, repr=False)
    """Frames whose bucket can be drawn at all."""

    def __post_init__(self) -> None:
        valid = np.isfinite(self.probabilities).all() and (self.probabilities >= 0).all()
        if self.memory.buckets and not (valid and abs(self.probabilities.sum() - 1) < 1e-6):
            raise BadInput(f"bucket probabilities {self.probabilities}; expected them to sum to 1")
        object.__setattr__(self, "edges", edges_of(self.probabilities))
        sizes = self.memory.sizes()
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "starts", np.cumsum(sizes) - sizes)
        object.__setattr__(self, "frames", FlatFrames.of(self.memory))
        object.__setattr__(self, "num_reachable", _reachable(self.edges, sizes))

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        return self.memory.buckets

    @property
    def is_fixed(self) -> bool:
        return True

    @property
    def measured(self) -> None:
        return None

    @property
    def passes(self) -> Passes:
        return Passes()

    def after_step(self, step: int) -> None:
        """Nothing is asked of the policy."""

    def weights(self) -> Float[np.ndarray, "buckets"]:
        return self.probabilities

    def next(self, count: int, step: int) -> Sequence[FrameRef]:
        """`count` frames for this step, drawn with replacement; none while the memory is empty."""
        return self.next_by(self.edges, count, step)

    def next_distinct(self, count: int, step: int) -> Sequence[FrameRef]:
        """`count` frames for this step, none twice; with replacement where fewer can be drawn."""
        if count > self.num_reachable:
            return self.next(count, step)
        return self._distinct(self.edges, count, step)

    def next_distinct_by(
        self, edges: Float[np.ndarray, "buckets"], count: int, step: int
    ) -> Sequence[FrameRef]:
        """The same by other probabilities."""
        if count > _reachable(edges, self.sizes):
            return self.next_by(edges, count, step)
        return self._distinct(edges, count, step)

    def _distinct(
        self, edges: Float[np.ndarray, "buckets"], count: int, step: int
    ) -> Sequence[FrameRef]:
        if not count:
            return []
        generator = self.stream.moved_to(step)
        buckets, counts = bucket_counts(edges, self.sizes, count, float(generator.random()))
        owners, places = distinct_places(self.sizes[buckets], counts, generator)
        # In random order, so that the parts of several processes are alike.
        return self.frames.take(generator.permutation(self.starts[buckets[owners]] + places))

    def next_by(
        self, edges: Float[np.ndarray, "buckets"], count: int, step: int
    ) -> Sequence[FrameRef]:
        """As `next`, by other probabilities."""
        if not len(self.sizes):
            return []
        uniforms = self.stream.uniforms(2 * count, step=step)
        chosen = edges.searchsorted(uniforms[:count], side="right")
        inside = (uniforms[count:] * self.sizes[chosen]).astype(np.int64)
        return self.frames.take(self.starts[chosen] + inside)


def edges_of(probabilities: Float[np.ndarray, "buckets"]) -> Float[np.ndarray, "buckets"]:
    """Where each bucket ends on the line from 0 to 1."""
    cumulative = np.cumsum(probabilities)
    # Divided by its own end, the last edge is exactly 1 and above every draw.
    return np.asarray(cumulative / cumulative[-1:])


def _reachable(edges: Float[np.ndarray, "buckets"], sizes: Int64[np.ndarray, "buckets"]) -> int:
    return int(sizes[np.diff(edges, prepend=0.0) > 0].sum())


def uniform_over_frames(memory: Memory) -> Float[np.ndarray, "buckets"]:
    """Bucket probabilities that make every stored frame equally likely."""
    sizes = memory.sizes().astype(np.float64)
    return sizes / sizes.sum() if len(sizes) else sizes


def mixed_sampler(
    memory: Memory,
    probabilities: Float[np.ndarray, "buckets"],
    *,
    priorities: Float[np.ndarray, "buckets"],
    uniform_share: float,
    stream: Stream,
) -> WeightedSampler:
    """A sampler that gives `uniform_share` of the draws to all stored frames alike."""
    uniform = uniform_over_frames(memory)
    return WeightedSampler(
        memory=memory,
        probabilities=(1 - uniform_share) * probabilities + uniform_share * uniform,
        priorities=priorities,
        stream=stream,
        uniform_share=uniform_share,
    )
