"""Rehearse most the phases in which the hand finds the object; all else hangs on them.

Over the runs on record, the loss on approaching and aligning tells whether a rollout succeeds; that
on carrying hardly does (docs/results-retention.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Draw, Probe
from phaser.core.ranges import SHARE, check_ranges
from phaser.core.streams import Stream
from phaser.routing.samplers import (
    WeightedSampler,
    mixed_sampler,
    uniform_over_frames,
)

FINDING = ("approach", "align")
"""How the names of such phases begin."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding(Draw):
    """A share of the draws goes to phases that find the object, the rest to all frames alike."""

    share: float = 0.3
    """Share of the draws that goes to phases which find the object."""

    def __post_init__(self) -> None:
        check_ranges(self, share=SHARE)

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> WeightedSampler:
        finds = np.array(
            [bucket.phase.label.startswith(FINDING) for bucket in memory.buckets], float
        )
        return mixed_sampler(
            memory,
            _among(finds, memory),
            priorities=finds,
            uniform_share=1 - self.share,
            stream=stream,
        )


def _among(finds: Float[np.ndarray, "buckets"], memory: Memory) -> Float[np.ndarray, "buckets"]:
    """All frames of these phases alike; of all phases where none has such a name."""
    weights = uniform_over_frames(memory)
    chosen = weights * finds
    return np.asarray(chosen / chosen.sum() if chosen.any() else weights)
