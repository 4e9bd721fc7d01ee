"""Keep frames spread evenly over the task's progress: the trivial control (`er-even`)."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.memory import Bucket, PreparedTask
from phaser.core.ports import Keep
from phaser.core.streams import Stream
from phaser.memory.frames import frames_of_task, into_buckets
from phaser.memory.spread import even_frames, spread_ranks


@dataclass(frozen=True, kw_only=True, slots=True)
class Even(Keep):
    """A grid over progress, each frame from another demonstration; knows nothing of phases."""

    def select(self, task: PreparedTask, num_frames: int, stream: Stream) -> list[Bucket]:
        frames = even_frames(frames_of_task(task), num_frames, stream())
        return into_buckets(task, frames, spread_ranks(num_frames))
