"""Keep a uniform sample of a task's frames: plain experience replay (`er`)."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.memory import Bucket, PreparedTask
from phaser.core.streams import Stream
from phaser.memory.frames import check_budget, frames_of_task, into_buckets
from phaser.memory.spread import random_frames


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservoir:
    """Every frame of the task is equally likely to stay; long phases get most of them."""

    frames_per_task: int = 20

    def __post_init__(self) -> None:
        check_budget(self.frames_per_task)

    def select(self, task: PreparedTask, stream: Stream) -> list[Bucket]:
        frames = random_frames(frames_of_task(task), self.frames_per_task, stream())
        return into_buckets(task, frames)
