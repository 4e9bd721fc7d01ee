"""Rehearse every stored frame alike: plain experience replay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Draw, Probe
from phaser.core.streams import Stream
from phaser.routing.samplers import WeightedSampler, uniform_over_frames


@dataclass(frozen=True, kw_only=True, slots=True)
class Uniform(Draw):
    """Uniform over frames, so a bucket's weight is its size."""

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> WeightedSampler:
        return WeightedSampler(
            memory=memory,
            probabilities=uniform_over_frames(memory),
            priorities=np.zeros(len(memory.buckets)),
            stream=stream,
            uniform_share=1.0,
        )
