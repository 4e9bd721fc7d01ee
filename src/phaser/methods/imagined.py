"""Rehearse beside what was recorded: stored images with another state and the policy's own answer.

A few stored frames are soon known by heart, and what the policy does beside them drifts. A frame
beside a stored one costs no image: it shows the same one with noise on the state, and its actions
are those of the policy that had just learnt the task. All of it is done when a task ends; a
training step costs as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.ports import MeasuringSampler, Sampler
from phaser.core.streams import Stream
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import (
    FinishedTask,
    Left,
    Penalised,
    Penalty,
    Rows,
    Tensor,
    check_weight,
    places_of,
    refs_at,
    required,
)

TASK = "imagined frames"
"""The name under which they are looked up; with a space no task can have it."""

OWN = ("states", "actions")
"""What a frame beside another has of its own; image, instruction and length of chunk are shared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imagined:
    """Some rehearsed frames give way to frames beside them, drawn anew every step."""

    share: float = 0.3
    """Of the rehearsed frames; the others stay as they were recorded."""
    copies: int = 5
    """How many frames beside each stored one."""
    state_noise: float = 0.2
    """In deviations of the state over the kept frames of the task."""

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise BadInput(f"share {self.share}; expected a share between 0 and 1")
        if self.copies < 1:
            raise BadInput(f"copies {self.copies}; expected at least 1")
        check_weight("state_noise", self.state_noise)

    def for_task(self, policy: Penalised, left: Left) -> Penalty:
        required(policy, "outputs", rule="Imagined")
        return NoPenalty()

    def after_task(self, left: Left, done: FinishedTask) -> Left:
        """What the policy does beside the frames that stay, now that it has learnt the task."""
        import torch

        if not done.kept:
            return left
        kept = done.batch([ref for ref in done.kept for _ in range(self.copies)])
        noise = torch.from_numpy(done.stream().standard_normal(kept.states.shape)).float()
        deviation = kept.states.std(0, correction=0)
        beside = replace(kept, states=kept.states + self.state_noise * deviation * noise)
        return {
            **left,
            f"places/{done.task}": places_of(done.kept),
            f"states/{done.task}": beside.states,
            f"actions/{done.task}": _answers(done.policy, beside),
        }

    def imagined(self, sampler: Sampler, left: Left, rows: Rows, stream: Stream) -> Sampler:
        """The sampler, some of whose frames give way."""
        if isinstance(sampler, MeasuringSampler):
            raise BadInput(
                f"imagined frames beside a draw that measures ({type(sampler).__name__}); "
                "choose a draw by fixed weights"
            )
        # Sorted: tensors come back from a file in another order than they were left in.
        tasks = sorted(name.removeprefix("places/") for name in left if name.startswith("places/"))
        if not tasks:
            return sampler
        near: dict[FrameRef, int] = {}
        shown: list[FrameRef] = []
        for task in tasks:
            for ref in refs_at(task, left[f"places/{task}"]):
                near[ref] = len(shown)
                shown += [ref] * self.copies
        rows.imagine(
            TASK, shown, {kind: [left[f"{kind}/{task}"] for task in tasks] for kind in OWN}
        )
        return ImaginedSampler(drawn=sampler, rule=self, near=near, stream=stream)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ImaginedSampler:
    """Draws as before, then lets single frames give way; depends on stream and step alone."""

    drawn: Sampler
    rule: Imagined
    near: Mapping[FrameRef, int]
    """Of every stored frame, the first of those beside it."""
    stream: Stream

    def next(self, count: int, step: int) -> Sequence[FrameRef]:
        refs = self.drawn.next(count, step)
        uniforms = self.stream.uniforms(2 * len(refs), step=step).tolist()
        pairs = zip(refs, uniforms[: len(refs)], uniforms[len(refs) :], strict=True)
        return [
            FrameRef(TASK, 0, self.near[ref] + int(place * self.rule.copies))
            if give_way < self.rule.share
            else ref
            for ref, give_way, place in pairs
        ]

    def weights(self) -> Float[np.ndarray, "buckets"]:
        return self.drawn.weights()


def _answers(policy: Any, batch: Any) -> Float[Tensor, "batch chunk action"]:
    import torch

    from phaser.methods.evaluating import evaluating

    with torch.no_grad(), evaluating(policy):
        answers: Tensor = policy.outputs(batch)
    return answers
