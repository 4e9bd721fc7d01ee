"""Keep frames spread evenly over the task's progress: the trivial control (`er-even`)."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.memory import Bucket, PreparedTask
from phaser.core.streams import Stream
from phaser.memory.frames import check_budget, frames_of_task, into_buckets
from phaser.memory.spread import even_frames


@dataclass(frozen=True, kw_only=True, slots=True)
class Even:
    """A grid over progress, each frame from another demonstration; knows nothing of phases."""

    frames_per_task: int = 20

    def __post_init__(self) -> None:
        check_budget(self.frames_per_task)

    def select(self, task: PreparedTask, stream: Stream) -> list[Bucket]:
        frames = even_frames(frames_of_task(task), self.frames_per_task, stream())
        return into_buckets(task, frames)
