"""Rehearse what the policy has already begun to lose: weights by the loss on stored frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.core.memory import Bucket, Memory, PreparedTask
from phaser.core.ports import Draw, Probe
from phaser.core.ranges import AMOUNT, SHARE, check_ranges
from phaser.core.streams import Stream
from phaser.routing.samplers import WeightedSampler, mixed_sampler


@dataclass(frozen=True, kw_only=True, slots=True)
class ByLoss(Draw):
    """Probability ∝ (mean loss of the task or phase)^exponent, measured once at task start."""

    uniform_share: float = 0.5
    """Share of the draws that takes all stored frames alike."""
    exponent: float = 1.0
    """The larger, the more the highest losses are preferred; 0 takes all alike."""
    level: Literal["task", "phase"] = "task"
    """Losses are compared between whole tasks or between phases."""

    def __post_init__(self) -> None:
        check_ranges(self, uniform_share=SHARE, exponent=AMOUNT)
        if self.level not in ("task", "phase"):
            raise BadInput(f"level {self.level!r}; expected 'task' or 'phase'")

    @property
    def needs_losses(self) -> bool:
        return True

    @property
    def asks_in_training(self) -> bool:
        return False

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> WeightedSampler:
        if not memory.buckets:
            empty = np.zeros(0)
            return WeightedSampler(
                memory=memory, probabilities=empty, priorities=empty, stream=stream
            )
        groups = np.array([self._group(bucket) for bucket in memory.buckets])
        _, group_of = np.unique(groups, return_inverse=True)
        sizes = memory.sizes().astype(np.float64)
        group_sizes = np.bincount(group_of, weights=sizes)
        group_losses = np.bincount(group_of, weights=_summed_losses(memory, probe)) / group_sizes
        weights = _powers(group_losses, self.exponent)
        return mixed_sampler(
            memory,
            weights[group_of] * sizes / group_sizes[group_of],
            priorities=group_losses[group_of],
            uniform_share=self.uniform_share,
            stream=stream,
        )

    def _group(self, bucket: Bucket) -> str:
        phase = bucket.phase
        return phase.task if self.level == "task" else f"{phase.task}\x1f{phase.index}"


def _summed_losses(memory: Memory, probe: Probe) -> Float[np.ndarray, "buckets"]:
    """Total loss per bucket, from one call of the probe, which may batch as it likes."""
    frames = [frame for bucket in memory.buckets for frame in bucket.frames]
    losses = np.asarray(probe(frames), dtype=np.float64)
    if losses.shape != (len(frames),) or not np.isfinite(losses).all() or (losses < 0).any():
        raise BadInput(
            f"losses of shape {losses.shape} for {len(frames)} stored frames; "
            "expected one finite number of 0 or more each (has training diverged?)"
        )
    starts = np.cumsum([0, *(len(bucket.frames) for bucket in memory.buckets)])[:-1]
    return np.add.reduceat(losses, starts)


def _powers(losses: Float[np.ndarray, "groups"], exponent: float) -> Float[np.ndarray, "groups"]:
    """Normalised powers; without any loss every group counts the same."""
    highest = losses.max()
    powers = np.ones_like(losses) if highest == 0 else (losses / highest) ** exponent
    return np.asarray(powers / powers.sum())
