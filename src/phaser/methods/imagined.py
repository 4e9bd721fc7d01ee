"""Rehearse what was never recorded: beside stored frames, and old instructions in the new scene.

A few stored frames are soon known by heart, and what the policy does beside them drifts. Neither
kind of imagined frame costs an image: one shows a stored image with another state, the other an
image of the task that is being learnt with an earlier instruction. Their actions are the policy's
own, from before it could forget. All of it is done between two tasks; a step costs as before.
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
    BegunTask,
    FinishedTask,
    Left,
    Penalised,
    Penalty,
    Tensor,
    check_weight,
    required,
)

TASK = "imagined frames"
"""The name under which they are looked up; with a space no task can have it."""

KINDS = ("places", "states", "actions", "valid", "language")
"""What a task leaves: its kept frames, all there is to know of the frames beside them, its word."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imagined:
    """Some rehearsed frames give way to imagined ones of the same task, drawn anew every step."""

    near_share: float = 0.4
    """To frames beside them: the same image, noise on the state, and the actions of the policy that
    had just learnt the task."""
    asked_share: float = 0.3
    """To frames of the new task under their own instruction, with the actions that the policy
    answers before it learns the new task: the same scene, another motion."""
    copies: int = 5
    """How many frames beside each stored one."""
    questions: int = 12
    """How many frames of the new task, for each earlier one."""
    state_noise: float = 0.2
    """In deviations of the state over the kept frames of the task."""

    def __post_init__(self) -> None:
        shares = (self.near_share, self.asked_share)
        if min(shares) < 0 or sum(shares) > 1:
            raise BadInput(
                f"near_share {self.near_share}, asked_share {self.asked_share}; expected 0 or more "
                "each, and together at most 1"
            )
        if min(self.copies, self.questions) < 1:
            raise BadInput(
                f"copies {self.copies}, questions {self.questions}; expected at least 1 each"
            )
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
        places = torch.tensor([(ref.demo, ref.frame) for ref in done.kept])
        answers = _answers(done.policy, beside)
        found = (places, beside.states, answers, beside.valid, beside.language[:1].clone())
        return {
            **left,
            **{f"{kind}/{done.task}": value for kind, value in zip(KINDS, found, strict=True)},
        }

    def imagined(
        self, sampler: Sampler, policy: Penalised, left: Left, begun: BegunTask
    ) -> Sampler:
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
        shown: list[FrameRef] = []
        rows: list[Mapping[str, Tensor]] = []
        near, asked = {}, {}
        spread = np.linspace(0, len(begun.frames) - 1, self.questions).astype(int)
        current = [begun.frames[place] for place in spread]
        batch = begun.rows.batch(current)
        for task in tasks:
            one = {kind: left[f"{kind}/{task}"] for kind in KINDS}
            kept = [FrameRef(task, demo, frame) for demo, frame in one["places"].tolist()]
            near |= {ref: len(shown) + k * self.copies for k, ref in enumerate(kept)}
            shown += [ref for ref in kept for _ in range(self.copies)]
            rows.append(one | {"language": one["language"].expand(len(one["states"]), -1)})
            asked[task] = range(len(shown), len(shown) + len(current))
            shown += current
            rows.append(_asked(policy, batch, one["language"]))
        begun.rows.imagine(TASK, shown, rows)
        return ImaginedSampler(
            drawn=sampler, rule=self, near=near, asked=asked, stream=begun.stream
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ImaginedSampler:
    """Draws as before, then lets single frames give way; depends on stream and step alone."""

    drawn: Sampler
    rule: Imagined
    near: Mapping[FrameRef, int]
    """Of every stored frame, the first of those beside it."""
    asked: Mapping[str, range]
    """Of every earlier task, the frames of the new one under its instruction."""
    stream: Stream

    def next(self, count: int, step: int) -> Sequence[FrameRef]:
        refs = self.drawn.next(count, step)
        uniforms = self.stream.uniforms(2 * len(refs), step=step).tolist()
        pairs = zip(refs, uniforms[: len(refs)], uniforms[len(refs) :], strict=True)
        return [self._instead(*pair) for pair in pairs]

    def weights(self) -> Float[np.ndarray, "buckets"]:
        return self.drawn.weights()

    def _instead(self, ref: FrameRef, kind: float, place: float) -> FrameRef:
        if kind < self.rule.near_share:
            return FrameRef(TASK, 0, self.near[ref] + int(place * self.rule.copies))
        if kind < self.rule.near_share + self.rule.asked_share:
            asked = self.asked[ref.task]
            return FrameRef(TASK, 0, asked[int(place * len(asked))])
        return ref


def _asked(policy: Penalised, batch: Any, language: Tensor) -> dict[str, Tensor]:
    """What the policy would do on these frames under another instruction."""
    import torch

    other = replace(batch, language=language.expand(len(batch), -1))
    return {
        "states": batch.states,
        "actions": _answers(policy, other),
        "valid": torch.ones_like(batch.valid),
        "language": other.language,
    }


def _answers(policy: Any, batch: Any) -> Float[Tensor, "batch chunk action"]:
    import torch

    from phaser.methods.evaluating import evaluating

    with torch.no_grad(), evaluating(policy):
        answers: Tensor = policy.outputs(batch)
    return answers
