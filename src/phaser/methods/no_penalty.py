"""No penalty: the mean loss of the batch, current and rehearsed frames alike."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float

from phaser.methods.penalty import FinishedTask, Left, Penalised, Tensor, TrainingStep


@dataclass(frozen=True, kw_only=True, slots=True)
class NoPenalty:
    """Replay alone keeps the earlier tasks; nothing is left behind for it."""

    def for_task(self, policy: Penalised, left: Left) -> NoPenalty:
        return self

    def after_task(self, left: Left, done: FinishedTask) -> Left:
        return {}

    def backward(self, step: TrainingStep) -> Float[Tensor, ""]:
        loss = step.losses.mean()
        step.backward(loss)
        return loss
