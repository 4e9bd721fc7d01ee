"""Rehearse every task alike, and every frame of a task alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Draw, Probe
from phaser.core.streams import Stream
from phaser.routing.samplers import WeightedSampler


@dataclass(frozen=True, kw_only=True, slots=True)
class Balanced(Draw):
    """Uniform over tasks, then over a task's frames: differs from uniform where budgets do."""

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> WeightedSampler:
        return WeightedSampler(
            memory=memory,
            probabilities=_probabilities(memory),
            priorities=np.zeros(len(memory.buckets)),
            stream=stream,
        )


def _probabilities(memory: Memory) -> Float[np.ndarray, "buckets"]:
    held = memory.frames_per_task()
    shares = [len(bucket.frames) / held[bucket.phase.task] for bucket in memory.buckets]
    return np.array(shares, dtype=np.float64) / max(len(held), 1)
