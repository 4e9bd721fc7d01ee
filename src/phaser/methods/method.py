"""A method is the product of small independent rules: what to keep, to draw and to penalise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from phaser.core.errors import BadInput
from phaser.memory.even import Even
from phaser.memory.herding import Herding
from phaser.memory.nothing import Nothing
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.reservoir import Reservoir
from phaser.methods.dark import Dark
from phaser.methods.distill import Distil
from phaser.methods.elastic import Elastic
from phaser.methods.imagined import Imagined
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.projected import Projected
from phaser.routing.adaptive import Adaptive
from phaser.routing.balanced import Balanced
from phaser.routing.by_loss import ByLoss
from phaser.routing.finding import Finding
from phaser.routing.max_interference import MaxInterference
from phaser.routing.nothing import NoDraw
from phaser.routing.routed import Routed
from phaser.routing.uniform import Uniform

KeepRule = Reservoir | Even | PhaseBuckets | Herding | Nothing
DrawRule = Uniform | Balanced | Finding | Routed | Adaptive | ByLoss | MaxInterference | NoDraw
PenaltyRule = NoPenalty | Distil | Dark | Projected | Elastic | Imagined


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """How a stream of tasks is learnt without losing the earlier ones."""

    keep: KeepRule
    draw: DrawRule
    penalty: PenaltyRule = field(default_factory=NoPenalty)
    joint: bool = False
    """All tasks at once instead of in a row: the upper bound, not a continual learner."""
    boundaries: Literal["per-demo", "ratio"] = "per-demo"
    """How the phases of one demonstration are carried over to the others."""
    summary: str = ""

    def __post_init__(self) -> None:
        if self.joint and not isinstance(self.penalty, NoPenalty):
            raise BadInput(
                f"{type(self.penalty).__name__} protects earlier tasks, but a joint method has "
                "none; take one of the two away"
            )

    def with_budget(self, frames_per_task: int) -> Method:
        """The same method with another memory; one that keeps nothing stays as it is."""
        if frames_per_task < 0:
            raise BadInput(f"a budget of {frames_per_task} frames per task; expected 0 or more")
        if isinstance(self.keep, Nothing):
            return self
        return replace(self, keep=replace(self.keep, frames_per_task=frames_per_task))
