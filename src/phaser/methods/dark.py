"""Dark experience replay (Buzzega et al. 2020): act on stored frames as when they were stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float

from phaser.core.demonstration import FrameRef
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
    places_of,
    refs_at,
)

CHUNK = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Dark(PenaltyRule):
    """A rehearsed frame's loss is weight × squared distance to its stored actions, and, with a
    `label_weight`, also its own loss (DER++).

    The original stores outputs while frames stream by. Here frames are chosen when a task ends, so
    its stored actions are those of the policy that has just learnt it.
    """

    weight: float = 1.0
    """Weight of the distance to the stored actions."""
    label_weight: float = 0.0
    """Weight of a rehearsed frame's own loss; above 0 this is DER++."""

    def __post_init__(self) -> None:
        check_ranges(self, weight=AMOUNT, label_weight=AMOUNT)

    @property
    def asks(self) -> frozenset[str]:
        return frozenset({"outputs"})

    def for_task(self, policy: TrainablePolicy, state: RuleState) -> Penalty:
        if not state:
            return NoPenalty()
        return _Remembering(rule=self, policy=policy, stored=stored_outputs(state))

    def after_task(self, state: RuleState, done: FinishedTask) -> RuleState:
        import torch

        if not done.kept:
            return state
        policy = done.policy
        policy.eval()
        starts = range(0, len(done.kept), CHUNK)
        with torch.no_grad():
            chunks = [
                policy.outputs(policy.batch(done.rows.samples(done.kept[start : start + CHUNK])))
                for start in starts
            ]
        return {
            **state,
            f"outputs/{done.task}": torch.cat(chunks),
            f"places/{done.task}": places_of(done.kept),
        }


def stored_outputs(state: RuleState) -> dict[FrameRef, Float[Tensor, "chunk action"]]:
    """The outputs that were stored, by frame."""
    found: dict[FrameRef, Any] = {}
    for name, places in state.items():
        kind, _, task = name.partition("/")
        if kind == "places":
            found |= zip(refs_at(task, places), state[f"outputs/{task}"], strict=True)
    return found


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Remembering:
    rule: Dark
    policy: TrainablePolicy
    stored: Mapping[FrameRef, Tensor]

    def backward(self, step: TrainingStep) -> Float[Tensor, ""]:
        import torch

        loss, count = step.losses.mean(), len(step.rehearsed)
        if not count:
            step.backward(loss)
            return loss
        old = step.samples.first(count)
        outputs = self.policy.outputs(self.policy.batch(old))
        stored = torch.stack([self.stored[ref] for ref in step.rehearsed])
        distances = (outputs - stored.to(outputs.device)).square().mean(2)
        # Actions beyond a demonstration's end were never trained, so what they were says nothing.
        valid = torch.from_numpy(old.valid).to(outputs.device).expand_as(distances)
        distances = (distances * valid).sum(1) / valid.sum(1)
        rehearsed = self.rule.weight * distances + self.rule.label_weight * step.losses[:count]
        step.backward(torch.cat([rehearsed, step.losses[count:]]).mean())
        return loss
