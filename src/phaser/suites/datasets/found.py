"""All that a run has to know of its sources once they are gone: found when the run is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from phaser.core.contract import Orientation, Statistics
from phaser.core.demonstration import ActionLayout, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundTask:
    """One task of a source."""

    name: str
    instruction: str
    source: Path
    """An HDF5 file, or the folder of a LeRobot dataset."""
    name_in_source: str
    turn: str
    """How images are turned while they are read."""
    after_action: bool
    """The source shows at each step what its action led to."""
    num_demos: int

    @property
    def task(self) -> Task:
        return Task(name=self.name, instruction=self.instruction)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundSources:
    """The tasks of all sources in order, and what a policy of them sees and commands."""

    asked_sha256: str
    """Hash of the settings that it was found for: under others it is found anew."""
    tasks: tuple[FoundTask, ...]
    cameras: tuple[str, ...]
    image_size: tuple[int, int]
    orientation: Orientation
    layout: ActionLayout
    state: tuple[str, ...]
    action: tuple[str, ...]
    state_statistics: Statistics
    """Over the training demonstrations of all sources; fixed for the run."""
    action_statistics: Statistics
