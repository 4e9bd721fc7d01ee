"""Dark experience replay (Buzzega et al. 2020): act on stored frames as when they were stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float

from phaser.core.demonstration import FrameRef
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import (
    FinishedTask,
    Left,
    Penalised,
    Penalty,
    Tensor,
    TrainingStep,
    check_weight,
    places_of,
    refs_at,
    required,
)

CHUNK = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Dark:
    """A rehearsed frame's loss is weight × squared distance to its stored actions, and, with a
    `label_weight`, also its own loss (DER++).

    The original stores outputs while frames stream by. Here frames are chosen when a task ends, so
    its stored actions are those of the policy that has just learnt it.
    """

    weight: float = 1.0
    label_weight: float = 0.0

    def __post_init__(self) -> None:
        check_weight("weight", self.weight)
        check_weight("label_weight", self.label_weight)

    def for_task(self, policy: Penalised, left: Left) -> Penalty:
        outputs = required(policy, "outputs", rule="Dark")
        if not left:
            return NoPenalty()
        return _Remembering(rule=self, outputs=outputs, stored=stored_outputs(left))

    def after_task(self, left: Left, done: FinishedTask) -> Left:
        import torch

        if not done.kept:
            return left
        done.policy.eval()
        outputs = required(done.policy, "outputs", rule="Dark")
        starts = range(0, len(done.kept), CHUNK)
        with torch.no_grad():
            said = [outputs(done.rows.batch(done.kept[start : start + CHUNK])) for start in starts]
        return {
            **left,
            f"outputs/{done.task}": torch.cat(said),
            f"places/{done.task}": places_of(done.kept),
        }


def stored_outputs(left: Left) -> dict[FrameRef, Float[Tensor, "chunk action"]]:
    """What was stored, by frame."""
    found: dict[FrameRef, Any] = {}
    for name, places in left.items():
        kind, _, task = name.partition("/")
        if kind == "places":
            found |= zip(refs_at(task, places), left[f"outputs/{task}"], strict=True)
    return found


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Remembering:
    rule: Dark
    outputs: Callable[[Any], Tensor]
    stored: Mapping[FrameRef, Tensor]

    def backward(self, step: TrainingStep) -> Float[Tensor, ""]:
        import torch

        loss, count = step.losses.mean(), len(step.rehearsed)
        if not count:
            step.backward(loss)
            return loss
        old = step.batch.first(count)
        stored = torch.stack([self.stored[ref] for ref in step.rehearsed])
        # Actions beyond a demonstration's end were never trained, so what they were says nothing.
        distances = (self.outputs(old) - stored).square().mean(2) * old.valid
        distances = distances.sum(1) / old.valid.sum(1)
        rehearsed = self.rule.weight * distances + self.rule.label_weight * step.losses[:count]
        step.backward(torch.cat([rehearsed, step.losses[count:]]).mean())
        return loss
