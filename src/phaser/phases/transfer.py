"""The paper's way to carry boundaries over to another demonstration: by their share of its length.

Demonstrations differ in pace, so a boundary placed by ratio alone often misses the event it stands
for; `phases/align.py` looks for that event and comes back to the ratio where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from phaser.core.errors import BadInput

Source = Literal["event", "ratio", "human", "model"]
"""What put a boundary where it is; Auto-PC carries boundaries by event or ratio."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """A boundary in a demonstration, and whether an event or the ratio put it there."""

    step: int
    source: Source


def by_ratio(ratios: Sequence[float], *, num_frames: int, min_phase_frames: int) -> list[int]:
    """Boundaries at the ratios, moved only as far as the shortest allowed phase demands."""
    num_phases = len(ratios) + 1
    if num_frames < num_phases:
        raise BadInput(
            f"a demonstration of {num_frames} frames cannot hold {num_phases} phases; "
            "remove it or allow fewer phases"
        )
    gap = max(1, min(min_phase_frames, num_frames // num_phases))
    steps = [round(ratio * num_frames) for ratio in ratios]
    edge = 0
    for position, step in enumerate(steps):
        edge = max(step, edge + gap)
        steps[position] = edge
    edge = num_frames
    for position in range(len(steps) - 1, -1, -1):
        edge = min(steps[position], edge - gap)
        steps[position] = edge
    return steps
