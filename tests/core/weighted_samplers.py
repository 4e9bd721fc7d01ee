"""Samplers over made-up buckets: bucket k holds frames 0, 2, 4, … of demonstration k."""

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.frame_refs import FrameRefs
from phaser.core.memory import Bucket, Memory, PhaseId, Prototype
from phaser.core.streams import Streams
from phaser.routing.samplers import WeightedSampler

EMPTY = np.zeros(1)
PROTOTYPE = Prototype(language=EMPTY, vision=EMPTY, action=EMPTY, motion=(0,))
STREAM = Streams(5).named("draw", "third")


def sampler_of(sizes, weights, *, stream=STREAM, lazy=False):
    def frames(index, size):
        if lazy:
            return FrameRefs(f"task-{index % 3}", np.full(size, index), np.arange(size) * 2)
        return tuple(FrameRef(f"task-{index % 3}", index, 2 * at) for at in range(size))

    buckets = tuple(
        Bucket(
            phase=PhaseId(f"task-{index % 3}", index, "p"),
            frames=frames(index, size),
            prototype=PROTOTYPE,
        )
        for index, size in enumerate(sizes)
    )
    weights = np.asarray(weights, dtype=np.float64)
    return WeightedSampler(
        memory=Memory(buckets),
        probabilities=weights / weights.sum(),
        priorities=np.zeros(len(sizes)),
        stream=stream,
    )
