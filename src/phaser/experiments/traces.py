"""Traces that a cell leaves beside its results; none of them changes a bit of these."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.ranges import COUNT_OR_ZERO, check_ranges


@dataclass(frozen=True, kw_only=True, slots=True)
class Traces:
    """What is asked for."""

    clips_per_task: int = 0
    """Rollouts of each task that are filmed after each stage of training."""

    def __post_init__(self) -> None:
        check_ranges(self, clips_per_task=COUNT_OR_ZERO)
