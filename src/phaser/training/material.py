"""One task, ready to be learnt and measured: what preparing it gives to training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from phaser.core.memory import PreparedTask
from phaser.training.frames import TaskFrames
from phaser.training.phase_probe import HeldoutPhases


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskMaterial:
    """One task, ready to be learnt and measured."""

    prepared: PreparedTask
    train: TaskFrames
    heldout: HeldoutPhases
    images_sha256: Mapping[str, str]
    """A hash of the recordings of each split: a resumed run compares it."""
