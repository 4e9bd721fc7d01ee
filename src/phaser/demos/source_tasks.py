"""Tasks that a user named, wherever their demonstrations come from, before they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from phaser.core.demonstration import Demo, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceTask:
    """One task of a source, its demonstrations not yet read."""

    task: Task
    source: str
    num_demos: int
    read: Callable[[], Iterable[Demo]]
    num_missing: int = 0
    """Demonstrations that `prepare` has to record before the first one can be read."""
    prepare: Callable[[Callable[[], None]], None] = lambda each: None
    """Records what is missing; calls back after each demonstration."""

    def demos(self) -> Iterable[Demo]:
        """Actions in memory, images in their files; states say nothing about phases."""
        for demo in self.read():
            yield replace(demo, states=np.zeros((demo.num_frames, 0), np.float32))


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedSources:
    """All tasks that were named, and remarks for the user."""

    tasks: tuple[SourceTask, ...]
    remarks: tuple[str, ...]
