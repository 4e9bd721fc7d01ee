"""No penalty: the mean loss of the batch, current and rehearsed frames alike."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float

from phaser.core.policy import TrainablePolicy
from phaser.methods.penalty import PenaltyRule, RuleState, Tensor, TrainingStep


@dataclass(frozen=True, kw_only=True, slots=True)
class NoPenalty(PenaltyRule):
    """Replay alone keeps the earlier tasks; nothing is left behind for it."""

    @property
    def needs_policy(self) -> bool:
        return False

    def for_task(self, policy: TrainablePolicy, state: RuleState) -> NoPenalty:
        return self

    def backward(self, step: TrainingStep) -> Float[Tensor, ""]:
        loss = step.losses.mean()
        step.backward(loss)
        return loss
