"""Keep nothing: learning in sequence, and joint learning, have no memory."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.memory import Bucket, PreparedTask
from phaser.core.ports import Keep
from phaser.core.streams import Stream


@dataclass(frozen=True, kw_only=True, slots=True)
class Nothing(Keep):
    """A finished task leaves no frame behind."""

    @property
    def keeps_frames(self) -> bool:
        return False

    def select(self, task: PreparedTask, num_frames: int, stream: Stream) -> list[Bucket]:
        return []
