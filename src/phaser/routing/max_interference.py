"""Rehearse what learning would damage most: maximally interfered retrieval (MIR, paper 4.1).

Now and then some stored frames are scored by how much a virtual step on the current
task raises their loss; those that lose most are rehearsed until the next refresh. Which frames are
scored and rehearsed at a step depends on the stream, the step and the scores measured so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int64

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.measurements import Measurements, Passes
from phaser.core.memory import Bucket, Memory, PreparedTask
from phaser.core.ports import Draw, Probe, VirtualStep
from phaser.core.ranges import COUNT, POSITIVE, check_ranges
from phaser.core.streams import Stream, Streams
from phaser.routing.flat_frames import FlatFrames
from phaser.routing.samplers import uniform_over_frames


@dataclass(frozen=True, kw_only=True, slots=True)
class MaxInterference(Draw):
    """The stored frames whose loss a virtual step raises most, cached between refreshes."""

    refreshes_per_task: int = 200
    """How often a task is scored, spread evenly over its steps; a task with fewer steps is scored
    at every step. 200 as in the paper's runs, which refreshed every 50 of 10,000 steps."""
    every_step: bool = False
    """Score anew at every step, as MIR was first published."""
    num_candidates: int = 16
    """Stored frames that a refresh scores, drawn alike from all."""
    num_cached: int = 8
    """How many of them are rehearsed until the next refresh."""
    learning_rate: float = 1e-3
    """Learning rate of the virtual step, which is plain gradient descent."""
    variant: VirtualStep = "virtual"
    """"virtual" computes a gradient for the step; "snapshot" takes the one that the step before
    left, which costs nothing, and so scores for the first time at step 1."""

    def __post_init__(self) -> None:
        check_ranges(
            self,
            refreshes_per_task=COUNT,
            num_candidates=COUNT,
            num_cached=COUNT,
            learning_rate=POSITIVE,
        )
        if self.num_cached > self.num_candidates:
            raise BadInput(
                f"num_cached {self.num_cached}; expected at most num_candidates "
                f"{self.num_candidates}: no more can be cached than are scored"
            )
        if self.variant not in ("virtual", "snapshot"):
            raise BadInput(f"variant {self.variant!r}; expected 'virtual' or 'snapshot'")

    @property
    def needs_gradient(self) -> bool:
        return True

    @property
    def reads_gradient(self) -> bool:
        return self.variant == "snapshot"

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> InterferenceSampler:
        if probe.num_steps is None:
            raise BadInput(
                "this method scores stored frames so many times per task: say how long a task is "
                "trained, Replay(…, steps_per_task=10_000)"
            )
        refreshes = probe.num_steps if self.every_step else self.refreshes_per_task
        return InterferenceSampler(
            rule=self,
            memory=memory,
            stream=stream,
            probe=probe,
            schedule=Refreshes(count=refreshes, num_steps=probe.num_steps),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Refreshes:
    """Steps at which frames are scored: `count` of them, evenly over the steps of a task."""

    count: int
    num_steps: int

    def last(self, step: int) -> int:
        """The last refresh up to this step."""
        if self.count >= self.num_steps:
            return step
        number = step * self.count // self.num_steps
        return -(-number * self.num_steps // self.count)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class InterferenceSampler:
    """Goes through the cached frames in a new order each step, as often as it takes."""

    rule: MaxInterference
    memory: Memory
    stream: Stream
    probe: Probe
    schedule: Refreshes
    measured: Measurements = field(default_factory=Measurements)
    uniform_share: float = field(default=0.0, init=False)
    frames: FlatFrames = field(init=False, repr=False)
    ends: Int64[np.ndarray, "buckets"] = field(init=False, repr=False)
    """Where a bucket's frames end among those of all buckets."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ends", np.cumsum(self.memory.sizes()))
        object.__setattr__(self, "frames", FlatFrames.of(self.memory))

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        return self.memory.buckets

    @property
    def is_fixed(self) -> bool:
        return False

    def next(self, count: int, step: int) -> Sequence[FrameRef]:
        if not self.buckets:
            return []
        cached = self._cached(self._refresh(step), now=step)
        order = self.stream.uniforms(len(cached), step=step).argsort()
        return self.frames.take(cached[order[np.arange(count) % len(cached)]])

    def next_distinct(self, count: int, step: int) -> Sequence[FrameRef]:
        """As ever: the few frames that interfere most are rehearsed as often as it takes."""
        return self.next(count, step)

    def after_step(self, step: int) -> None:
        """Score for the next step while the gradient of this one is still there."""
        is_due = self._refresh(step + 1) == step + 1
        if self.rule.variant == "snapshot" and is_due and self.buckets:
            self._cached(step + 1, now=step + 1)

    def weights(self) -> Float[np.ndarray, "buckets"]:
        """Each bucket's share of the caches so far."""
        if not len(self.measured):
            return uniform_over_frames(self.memory)
        cached = [self._cached(step, now=step) for step in self.measured.by_step]
        counts = np.bincount(self._buckets_of(np.concatenate(cached)), minlength=len(self.buckets))
        return np.asarray(counts / counts.sum())

    @property
    def priorities(self) -> Float[np.ndarray, "buckets"]:
        """Mean interference that was measured of a bucket's frames; 0 where none was scored."""
        sums, counts = np.zeros(len(self.buckets)), np.zeros(len(self.buckets))
        for step, scores in self.measured.by_step.items():
            scored = self._buckets_of(self._candidates(step))
            np.add.at(sums, scored, scores)
            np.add.at(counts, scored, 1)
        return np.asarray(sums / np.maximum(counts, 1))

    @property
    def passes(self) -> Passes:
        """What scoring cost so far; the backward pass is over the current frames of a step."""
        refreshes, is_fresh = len(self.measured), self.rule.variant == "virtual"
        scored = sum(len(scores) for scores in self.measured.by_step.values())
        return Passes(
            forward=refreshes * (3 if is_fresh else 2),
            backward=refreshes if is_fresh else 0,
            frames=2 * scored,
        )

    def _refresh(self, step: int) -> int:
        """The last refresh up to this step; one that needs a gradient comes a step later."""
        if self.rule.variant == "snapshot":
            return self.schedule.last(step - 1) + 1 if step else 0
        return self.schedule.last(step)

    def _cached(self, refresh: int, *, now: int) -> Int64[np.ndarray, "cached"]:
        candidates = self._candidates(refresh)
        if self.rule.variant == "snapshot" and refresh == 0:
            return candidates
        scores = self.measured.at(
            refresh,
            now=now,
            measure=lambda: self.probe.interference(
                list(self.frames.take(candidates)),
                step=refresh,
                learning_rate=self.rule.learning_rate,
                variant=self.rule.variant,
            ),
        )
        best = np.argsort(-scores, kind="stable")[: self.rule.num_cached]
        return candidates[best]

    def _candidates(self, refresh: int) -> Int64[np.ndarray, "candidates"]:
        stored = int(self.ends[-1])
        rng = Streams(self.stream.key).named("candidates").at_step(refresh)
        size = min(self.rule.num_candidates, stored)
        return rng.choice(stored, size=size, replace=False).astype(np.int64)

    def _buckets_of(self, positions: Int64[np.ndarray, "count"]) -> Int64[np.ndarray, "count"]:
        return self.ends.searchsorted(positions, side="right").astype(np.int64)
