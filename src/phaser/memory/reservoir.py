"""Keep a uniform sample of a task's frames: plain experience replay (`er`)."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.memory import Bucket, PreparedTask
from phaser.core.ports import Keep
from phaser.core.streams import Stream
from phaser.memory.frames import frames_of_task, into_buckets
from phaser.memory.spread import random_frames


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservoir(Keep):
    """Every frame of the task is equally likely to stay; long phases get most of them."""

    def select(self, task: PreparedTask, num_frames: int, stream: Stream) -> list[Bucket]:
        frames = random_frames(frames_of_task(task), num_frames, stream())
        return into_buckets(task, frames)
