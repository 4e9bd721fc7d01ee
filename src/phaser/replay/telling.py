"""Lines for the person who waits while a task begins: what is read, cut, encoded and kept."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.memory import PreparedTask
from phaser.core.segmentation import phase_names
from phaser.memory.store import Store
from phaser.replay.columns import say
from phaser.replay.ranks import Ranks
from phaser.replay.recording import Recording


@dataclass(frozen=True, kw_only=True, slots=True)
class Telling:
    """Says what happens to one task, on standard error; one process speaks for all."""

    task: str
    speaks: bool

    @classmethod
    def of(cls, task: str, *, wanted: bool, ranks: Ranks) -> Telling:
        """Of several processes the first speaks, where it is wanted at all."""
        return cls(task=task, speaks=wanted and ranks.rank == 0)

    def reading(self) -> Telling:
        """The demonstrations are about to be read."""
        self._say("reading its demonstrations")
        return self

    def cutting(self, recording: Recording) -> None:
        """The demonstrations are read; phases are found and described next."""
        frames = sum(demo.num_frames for demo in recording.demos)
        episodes = _counted(len(recording.demos), "episode")
        self._say(f"{episodes}, {_counted(frames, 'frame')}; finding and describing phases")

    def begun(self, prepared: PreparedTask, store: Store) -> None:
        """All is ready to train."""
        names = phase_names(prepared.segmentations)
        shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
        stored, before = _counted(store.num_frames, "frame"), len(store.tasks)
        old = f"rehearsing {stored} of {before} before it" if before else "the first"
        self._say(f"{_counted(len(names), 'phase')}: {shown}; {old}")

    def kept(self, num_frames: int) -> None:
        """The task's frames are in the memory."""
        self._say(f"kept {_counted(num_frames, 'frame')}")

    def there(self, folder: object) -> None:
        """The memory holds the task already, so whoever asked will skip it."""
        self._say(f"in {folder} already; nothing to do")

    def _say(self, line: str) -> None:
        if self.speaks:
            say(f"{self.task}: {line}")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
