"""Rehearse nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Draw, Probe
from phaser.core.streams import Stream
from phaser.routing.samplers import WeightedSampler


@dataclass(frozen=True, kw_only=True, slots=True)
class NoDraw(Draw):
    """Every step trains on the current task alone, whatever the memory holds."""

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> WeightedSampler:
        nothing = np.zeros(0)
        return WeightedSampler(
            memory=Memory(), probabilities=nothing, priorities=nothing, stream=stream
        )
