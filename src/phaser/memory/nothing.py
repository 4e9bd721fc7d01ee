"""Keep nothing: learning in sequence, and joint learning, have no memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from phaser.core.memory import Bucket, PreparedTask
from phaser.core.streams import Stream


@dataclass(frozen=True, kw_only=True, slots=True)
class Nothing:
    """A finished task leaves no frame behind."""

    frames_per_task: int = field(default=0, init=False)

    def select(self, task: PreparedTask, stream: Stream) -> list[Bucket]:
        return []
