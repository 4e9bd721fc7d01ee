"""Routing that recovers from a wrong prior: closed-form priorities, corrected by measured losses.

The priorities of the paper (3.3) are a forecast of what a task will overwrite. While the task is
learnt, a few frames of every stored phase are asked for their loss now and then; the more often
that was done, the less the forecast counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Float64, Int64

from phaser.core.demonstration import FrameRef
from phaser.core.measurements import Measurements, Passes
from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Draw, Probe
from phaser.core.ranges import AMOUNT, COUNT, SHARE, check_ranges
from phaser.core.streams import Stream
from phaser.routing.routed import Routed
from phaser.routing.samplers import WeightedSampler, edges_of, uniform_over_frames


@dataclass(frozen=True, kw_only=True, slots=True)
class Adaptive(Draw):
    """After n measurements: c / (c + n) prior, the rest by how much a phase's loss has risen.

    A phase whose loss has not risen since the task began gets nothing of the measured part; where
    none has, that part is uniform. `uniform_share` of all draws stays uniform throughout.
    """

    prior: Routed = field(default_factory=lambda: Routed(uniform_share=0.0))
    """The forecast."""
    prior_measurements: float = 1.0
    """c: how many measurements the forecast is worth."""
    measure_every: int = 50
    """Steps from one measurement to the next; the first is made before the first step."""
    probes_per_phase: int = 4
    """Stored frames that are asked for their loss, evenly spread over those of the phase."""
    uniform_share: float = 0.5
    """Share of the draws that takes all stored frames alike."""

    def __post_init__(self) -> None:
        check_ranges(
            self,
            prior_measurements=AMOUNT,
            measure_every=COUNT,
            probes_per_phase=COUNT,
            uniform_share=SHARE,
        )

    @property
    def needs_prototypes(self) -> bool:
        return True

    @property
    def needs_losses(self) -> bool:
        return True

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> AdaptiveSampler:
        prior = self.prior.for_task(memory, task, stream, probe)
        return AdaptiveSampler(rule=self, prior=prior, probe=probe)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AdaptiveSampler:
    """Draws by weights that change at every measurement."""

    rule: Adaptive
    prior: WeightedSampler
    probe: Probe
    measured: Measurements = field(default_factory=Measurements)

    def next(self, count: int, step: int) -> Sequence[FrameRef]:
        if not self.prior.buckets:
            return []
        return self.prior.next_by(self._edges(step), count, step)

    def next_distinct(self, count: int, step: int) -> Sequence[FrameRef]:
        if not self.prior.buckets:
            return []
        return self.prior.next_distinct_by(self._edges(step), count, step)

    def _edges(self, step: int) -> Float[np.ndarray, "buckets"]:
        last = step - step % self.rule.measure_every
        return edges_of(self._weights_at(last, now=step))

    @property
    def is_fixed(self) -> bool:
        return False

    def after_step(self, step: int) -> None:
        """A loss can be asked for without the gradient of a step."""

    def weights(self) -> Float[np.ndarray, "buckets"]:
        """The mean over the task so far."""
        if not len(self.measured):
            return self._mixed(self.prior.weights())
        drawn_by = [self._weights_at(step, now=step) for step in self.measured.by_step]
        return np.asarray(np.mean(drawn_by, axis=0))

    @property
    def priorities(self) -> Float[np.ndarray, "buckets"]:
        return self.prior.priorities

    @property
    def uniform_share(self) -> float:
        return self.rule.uniform_share

    @property
    def passes(self) -> Passes:
        """What measuring cost so far: one pass over all probes each time."""
        asked = sum(len(losses) for losses in self.measured.by_step.values())
        return Passes(forward=len(self.measured), frames=asked)

    def _weights_at(self, last: int, *, now: int) -> Float[np.ndarray, "buckets"]:
        losses = self._losses(last, now=now)
        count = last // self.rule.measure_every
        if not count:
            return self._mixed(self.prior.weights())
        risen = losses - self._losses(0, now=now)
        trust = count / (count + self.rule.prior_measurements)
        return self._mixed((1 - trust) * self.prior.weights() + trust * self._shares(risen))

    def _shares(self, risen: Float64[np.ndarray, "probes"]) -> Float[np.ndarray, "buckets"]:
        """Each bucket's share of the total loss increase."""
        counts = self._probe_counts()
        sums = np.add.reduceat(risen, np.cumsum(counts) - counts)
        lost = np.maximum(sums / counts, 0.0)
        if not lost.any():
            return uniform_over_frames(self.prior.memory)
        return np.asarray(lost / lost.sum())

    def _mixed(self, weights: Float[np.ndarray, "buckets"]) -> Float[np.ndarray, "buckets"]:
        share = self.rule.uniform_share
        return (1 - share) * weights + share * uniform_over_frames(self.prior.memory)

    def _losses(self, step: int, *, now: int) -> Float64[np.ndarray, "probes"]:
        return self.measured.at(step, now=now, measure=lambda: self.probe(self._probes()))

    def _probes(self) -> list[FrameRef]:
        counts = self._probe_counts()
        return [
            bucket.frames[int(place)]
            for bucket, count in zip(self.prior.buckets, counts, strict=True)
            for place in np.linspace(0, len(bucket.frames) - 1, count)
        ]

    def _probe_counts(self) -> Int64[np.ndarray, "buckets"]:
        return np.asarray(np.minimum(self.prior.sizes, self.rule.probes_per_phase))
