"""Elastic weight consolidation (Kirkpatrick et al. 2017), with one anchor for all earlier tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float

from phaser.core.policy import TrainablePolicy
from phaser.core.ranges import AMOUNT, COUNT, check_ranges
from phaser.core.streams import Stream
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
class Elastic(PenaltyRule):
    """Adds strength / 2 × Σ F (θ − θ*)²: a trained weight moves the less, the more a task needs it.

    F is the diagonal of the empirical Fisher information, summed over tasks with `decay`; θ* are
    the weights after the last task (online EWC, Schwarz et al. 2018).
    """

    strength: float = 1000.0
    """How firmly weights that earlier tasks need are held."""
    decay: float = 1.0
    """How much of the earlier tasks' F stays when a task is added."""
    num_frames: int = 200
    """Frames of each task from which its F is computed."""

    def __post_init__(self) -> None:
        check_ranges(self, strength=AMOUNT, decay=AMOUNT, num_frames=COUNT)

    def for_task(self, policy: TrainablePolicy, state: RuleState) -> Penalty:
        if not state:
            return NoPenalty()
        held = [
            (weight, state[f"anchor/{name}"], state[f"fisher/{name}"])
            for name, weight in trained_weights(policy).items()
        ]
        return _Holding(held=held, strength=self.strength)

    def after_task(self, state: RuleState, done: FinishedTask) -> RuleState:
        found = fisher(done, num_frames=self.num_frames)
        now: dict[str, Any] = {}
        for name, weight in trained_weights(done.policy).items():
            before = state.get(f"fisher/{name}")
            merged = found[name] if before is None else self.decay * before + found[name]
            now |= {f"fisher/{name}": merged, f"anchor/{name}": weight.detach().clone()}
        return now


def fisher(done: FinishedTask, *, num_frames: int) -> dict[str, Tensor]:
    """Mean over frames of the squared gradient of each frame's own loss, weight by weight."""
    import torch

    policy = done.policy
    policy.eval()
    weights = trained_weights(policy)
    sums = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    count = min(num_frames, len(done.frames))
    for k in sorted(done.stream().choice(len(done.frames), count, replace=False).tolist()):
        loss = policy(
            policy.batch(done.rows.samples([done.frames[k]])), Stream(done.stream.key + k)
        ).sum()
        gradients = torch.autograd.grad(
            loss, list(weights.values()), allow_unused=True, materialize_grads=True
        )
        for total, gradient in zip(sums.values(), gradients, strict=True):
            total += gradient.square() / count
    return sums


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Holding:
    held: list[tuple[Any, Tensor, Tensor]]
    strength: float

    def backward(self, step: TrainingStep) -> Float[Tensor, ""]:
        loss = step.losses.mean()
        pulls = [(need * (weight - anchor).square()).sum() for weight, anchor, need in self.held]
        step.backward(loss + self.strength / 2 * sum(pulls))
        return loss
