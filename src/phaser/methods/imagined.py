"""Rehearse beside what was recorded: what the policy itself did before it learnt anything else.

A few stored frames are soon known by heart, and what the policy does beside them drifts. Two kinds
of frames hold it there and cost no stored image. A frame *beside* a stored one shows it moved by a
little, with noise on the state; its actions are those of the policy that had just learnt the task.
A frame is *asked* of the new task where its scene is that of an earlier one: the new frame under
the earlier instruction, with what the policy answers before it learns the new motion. All of it is
done between tasks; a training step costs as before.
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
from phaser.methods.answers import answers
from phaser.methods.asked import asked_frames
from phaser.methods.moved import moved
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import (
    BegunTask,
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

IMAGINED = "imagined frames"
"""The name under which all are looked up; with a space no task can have it."""

BESIDE = "beside "
"""Before a task's name, the frames beside its own."""

OWN = ("states", "actions", "moves")
"""What frames beside others have of their own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imagined:
    """Some rehearsed frames give way to imagined ones, drawn anew every step."""

    share: float = 0.4
    """Of the rehearsed frames, how many give way to a frame beside them."""
    copies: int = 10
    """How many frames beside each stored one."""
    state_noise: float = 0.1
    """In deviations of the state over the kept frames of the task."""
    image_shift: float = 0.08
    """How far an image is moved at most, across and down, as a share of its size."""
    asked_share: float = 0.2
    """Of the rehearsed frames, how many give way to frames of the new task under the instruction
    of an earlier one in the same scene; none where no earlier task shares the scene."""
    same_scene: float = 0.3
    """Two tasks share a scene if the cosine of their mean visual prototypes, less the mean of all
    tasks, is above this."""
    questions: int = 100
    """How many frames of the new task are asked, for each earlier one in its scene."""

    def __post_init__(self) -> None:
        if min(self.share, self.asked_share) < 0 or self.share + self.asked_share > 1:
            raise BadInput(
                f"share {self.share}, asked_share {self.asked_share}; expected 0 or more each, "
                "and together at most 1"
            )
        if min(self.copies, self.questions) < 1:
            raise BadInput(
                f"copies {self.copies}, questions {self.questions}; expected at least 1 each"
            )
        check_weight("state_noise", self.state_noise)
        check_weight("image_shift", self.image_shift)

    def for_task(self, policy: Penalised, left: Left) -> Penalty:
        required(policy, "outputs", rule="Imagined")
        return NoPenalty()

    def after_task(self, left: Left, done: FinishedTask) -> Left:
        """What the policy does beside the frames that stay, now that it has learnt the task."""
        import torch

        if not done.kept:
            return left
        rng = done.stream()
        still = done.rows.batch(done.kept).states.repeat_interleave(self.copies, 0)
        noise = torch.from_numpy(rng.standard_normal(still.shape)).float()
        moves = torch.from_numpy(rng.uniform(-1, 1, (self.copies, 2))).float() * self.image_shift
        states = still + self.state_noise * still.std(0, correction=0) * noise
        beside = _beside(done.rows, done.kept, moves, states)
        said = answers(done.policy, beside)
        done.rows.imagine(BESIDE + done.task, replace(beside, actions=said))
        new = {"places": places_of(done.kept), "moves": moves, "states": states, "actions": said}
        return {**left, **{f"{kind}/{done.task}": value for kind, value in new.items()}}

    def imagined(self, sampler: Sampler, left: Left, begun: BegunTask) -> Sampler:
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
        for task in tasks:
            kept = refs_at(task, left[f"places/{task}"])
            # Frames of earlier tasks are there already, unless the run was taken up again.
            if BESIDE + task not in begun.rows:
                states, said, moves = (left[f"{kind}/{task}"] for kind in OWN)
                beside = _beside(begun.rows, kept, moves, states)
                begun.rows.imagine(BESIDE + task, replace(beside, actions=said))
            first = len(near) * self.copies
            near |= {ref: first + k * self.copies for k, ref in enumerate(kept)}
        asked = (
            asked_frames(begun, same_scene=self.same_scene, count=self.questions)
            if self.asked_share
            else {}
        )
        begun.rows.join(IMAGINED, [*(BESIDE + task for task in tasks), *asked])
        return ImaginedSampler(
            drawn=sampler,
            rule=self,
            near=near,
            num_asked=sum(asked.values()),
            stream=begun.stream,
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ImaginedSampler:
    """Draws as before, then lets single frames give way; depends on stream and step alone."""

    drawn: Sampler
    rule: Imagined
    near: Mapping[FrameRef, int]
    """Of every stored frame, the first of those beside it."""
    num_asked: int
    """How many frames of the new task come after all of those."""
    stream: Stream

    def next(self, count: int, step: int) -> Sequence[FrameRef]:
        refs = self.drawn.next(count, step)
        uniforms = self.stream.uniforms(2 * len(refs), step=step).tolist()
        draws = zip(refs, uniforms[: len(refs)], uniforms[len(refs) :], strict=True)
        return [self._instead(*draw) for draw in draws]

    def weights(self) -> Float[np.ndarray, "buckets"]:
        return self.drawn.weights()

    def _instead(self, ref: FrameRef, kind: float, place: float) -> FrameRef:
        rule = self.rule
        if kind < rule.share:
            return FrameRef(IMAGINED, 0, self.near[ref] + int(place * rule.copies))
        if self.num_asked and kind < rule.share + rule.asked_share:
            first = len(self.near) * rule.copies
            return FrameRef(IMAGINED, 0, first + int(place * self.num_asked))
        return ref


def _beside(
    rows: Rows,
    kept: Sequence[FrameRef],
    moves: Float[Tensor, "copies 2"],
    states: Float[Tensor, "rows state"],
) -> Any:
    """Every kept frame by each move in turn, with these states; all else is the frame's."""
    once = rows.batch(kept)
    again = {
        name: getattr(once, name).repeat_interleave(len(moves), 0)
        for name in ("language", "actions", "valid")
    }
    return replace(once, inputs=moved(once.inputs, moves), states=states, **again)
