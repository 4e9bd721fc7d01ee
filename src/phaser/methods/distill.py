"""Stay near the previous policy's features on rehearsed frames: iCaRL's distillation, paper 4.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float

from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import (
    FinishedTask,
    Left,
    Penalised,
    Penalty,
    Tensor,
    TrainingStep,
    check_weight,
    required,
    trained_weights,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Distil:
    """Adds weight × mean squared difference of features, new policy against previous one.

    The previous policy is the one that the task before left: its trained weights alone are kept,
    and the frozen rest is shared with the policy in training.
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight("weight", self.weight)

    def for_task(self, policy: Penalised, left: Left) -> Penalty:
        features = required(policy, "features", rule="Distil")
        if not left:
            return NoPenalty()
        from phaser.methods.teacher import Teacher

        teacher = Teacher(policy, left, read="features")
        return _Distilling(features=features, teacher=teacher, weight=self.weight)

    def after_task(self, left: Left, done: FinishedTask) -> Left:
        weights = trained_weights(done.policy)
        return {name: weight.detach().clone() for name, weight in weights.items()}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Distilling:
    features: Callable[[Any], Tensor]
    teacher: Callable[[Any], Tensor]
    weight: float

    def backward(self, step: TrainingStep) -> Float[Tensor, ""]:
        loss = step.losses.mean()
        if not step.rehearsed:
            step.backward(loss)
            return loss
        old = step.batch.first(len(step.rehearsed))
        distance = (self.features(old) - self.teacher(old)).square().mean()
        step.backward(loss + self.weight * distance)
        return loss
