"""Stay near the previous policy's features on rehearsed frames: iCaRL's distillation, paper 4.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float

from phaser.core.policy import TrainablePolicy
from phaser.core.ranges import AMOUNT, check_ranges
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import (
    FinishedTask,
    Penalty,
    PenaltyRule,
    RuleState,
    Tensor,
    TrainingStep,
    trained_weights,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Distil(PenaltyRule):
    """Adds weight × mean squared difference of features, new policy against previous one.

    The previous policy is the one that the task before left: its trained weights alone are kept,
    and the frozen rest is shared with the policy in training.
    """

    weight: float = 1.0
    """Weight of the distance between the features of the teacher and of the policy."""

    def __post_init__(self) -> None:
        check_ranges(self, weight=AMOUNT)

    @property
    def asks(self) -> frozenset[str]:
        return frozenset({"features"})

    def for_task(self, policy: TrainablePolicy, state: RuleState) -> Penalty:
        if not state:
            return NoPenalty()
        from phaser.methods.teacher import Teacher

        teacher = Teacher(policy, state, read="features")
        return _Distilling(policy=policy, teacher=teacher, weight=self.weight)

    def after_task(self, state: RuleState, done: FinishedTask) -> RuleState:
        weights = trained_weights(done.policy)
        return {name: weight.detach().clone() for name, weight in weights.items()}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Distilling:
    policy: TrainablePolicy
    teacher: Callable[[Any], Tensor]
    weight: float

    def backward(self, step: TrainingStep) -> Float[Tensor, ""]:
        loss = step.losses.mean()
        if not step.rehearsed:
            step.backward(loss)
            return loss
        old = self.policy.batch(step.samples.first(len(step.rehearsed)))
        distance = (self.policy.features(old) - self.teacher(old)).square().mean()
        step.backward(loss + self.weight * distance)
        return loss
