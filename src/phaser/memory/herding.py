"""Keep the frames whose mean is closest to the mean of all: iCaRL's exemplars (`icarl`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.memory import Bucket, PreparedTask
from phaser.core.ports import Keep
from phaser.core.streams import Stream
from phaser.memory.frame_vectors import frame_vectors
from phaser.memory.frames import check_enough, frames_of_task, into_buckets


@dataclass(frozen=True, kw_only=True, slots=True)
class Herding(Keep):
    """Herding over a task's frames, by frozen vision features; by state and action without them.

    It draws nothing at random: every stream keeps the same frames.
    """

    @property
    def needs_features(self) -> bool:
        return True

    def select(self, task: PreparedTask, num_frames: int, stream: Stream) -> list[Bucket]:
        available = frames_of_task(task)
        pool = [frame for frames in available for frame in frames]
        check_enough(len(pool), num_frames)
        order = herding_order(frame_vectors(task, available), num_frames)
        return into_buckets(task, [pool[at] for at in order])


def herding_order(vectors: Float[np.ndarray, "points dims"], count: int) -> list[int]:
    """Rows, each chosen so that the mean of the chosen comes closest to the mean of all.

    Greedy and without repeats (iCaRL, algorithm 4); of equal rows the first wins. The mean of
    vectors of length one is not scaled to length one again.
    """
    mean = vectors.mean(axis=0)
    half_squares = np.einsum("ij,ij->i", vectors, vectors) / 2
    missing = np.zeros_like(mean)
    gone = np.zeros(len(vectors), dtype=bool)
    chosen: list[int] = []
    for _ in range(count):
        # |missing - x|² is smallest where this is largest; missing = k · mean - sum of the chosen.
        missing = missing + mean
        gain = np.einsum("ij,j->i", vectors, missing) - half_squares
        gain[gone] = -np.inf
        at = int(gain.argmax())
        chosen.append(at)
        gone[at] = True
        missing = missing - vectors[at]
    return chosen
