"""The settings that `phaser lerobot-train` has of its own; all others are LeRobot's."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from phaser.core.demonstration import ActionLayout
from phaser.memory.budget import Budget
from phaser.memory.codec_names import DEFAULT_CODEC

ALL_SO_FAR, FIRST = "all-so-far", "first"
DEFAULT_BUDGET = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsal:
    """How earlier tasks are kept, rehearsed and measured."""

    folder: Path
    """The memory; what this verb writes itself is in its folder `lerobot`."""
    method: str = "phaser"
    budget: Budget = field(default_factory=lambda: Budget.per_task(DEFAULT_BUDGET))
    codec: str = DEFAULT_CODEC
    share: float = 0.5
    """Share of a batch that is rehearsed."""
    layout: ActionLayout | str | None = None
    phases: str | None = None
    seed: int = 0
    statistics: str = ALL_SO_FAR
    """`all-so-far`, `first`, or a file in the form of a dataset's meta/stats.json."""
    held_out: float = 0.1
    """Share of each dataset's episodes, its last ones, that are measured and never trained on."""
    held_out_frames: int = 64
    """The most frames of a phase that are measured."""
    cameras: tuple[str, ...] | None = None
    """Cameras that describe a phase when it is routed; None means all."""
    rollouts: int | None = None
    """Rollouts of every learnt dataset that has an environment; None: as LeRobot's own setting."""
    instruction: str | None = None
    """What the policy is asked to do, where the dataset does not say it."""
