"""A method is the product of small independent rules: what to keep and what to draw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from phaser.core.errors import BadInput
from phaser.memory.even import Even
from phaser.memory.nothing import Nothing
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.reservoir import Reservoir
from phaser.routing.adaptive import Adaptive
from phaser.routing.balanced import Balanced
from phaser.routing.by_loss import ByLoss
from phaser.routing.max_interference import MaxInterference
from phaser.routing.nothing import NoDraw
from phaser.routing.routed import Routed
from phaser.routing.uniform import Uniform

KeepRule = Reservoir | Even | PhaseBuckets | Nothing
DrawRule = Uniform | Balanced | Routed | Adaptive | ByLoss | MaxInterference | NoDraw


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """How a stream of tasks is learnt without losing the earlier ones."""

    keep: KeepRule
    draw: DrawRule
    joint: bool = False
    """All tasks at once instead of in a row: the upper bound, not a continual learner."""
    boundaries: Literal["per-demo", "ratio"] = "per-demo"
    """How the phases of one demonstration are carried over to the others."""
    summary: str = ""

    def with_budget(self, frames_per_task: int) -> Method:
        """The same method with another memory; one that keeps nothing stays as it is."""
        if frames_per_task < 0:
            raise BadInput(f"a budget of {frames_per_task} frames per task; expected 0 or more")
        if isinstance(self.keep, Nothing):
            return self
        return replace(self, keep=replace(self.keep, frames_per_task=frames_per_task))
