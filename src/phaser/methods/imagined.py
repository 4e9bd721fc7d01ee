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
from typing import cast

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.ports import Frames, ImaginedFrames, Sampler
from phaser.core.ranges import AMOUNT, COUNT, SHARE, between, check_ranges
from phaser.core.samples import Samples
from phaser.core.streams import Stream
from phaser.methods.answers import answers
from phaser.methods.old_instructions import frames_under_old_instructions
from phaser.methods.penalty import (
    FinishedTask,
    RuleState,
    Tensor,
    places_of,
    refs_at,
)
from phaser.methods.rehearse import BegunTask, RehearseRule
from phaser.methods.shifted_images import shifted

IMAGINED = "imagined frames"
"""The name under which all are looked up; with a space no task can have it."""

BESIDE = "beside "
"""Put before a task's name, it names the frames beside that task's own."""

OWN = ("states", "actions", "moves")
"""The parts that frames beside others have of their own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imagined(RehearseRule):
    """Some rehearsed frames give way to imagined ones, drawn anew every step."""

    share: float = 0.4
    """Share of the rehearsed frames that give way to a frame beside them."""
    copies: int = 10
    """Number of frames beside each stored one."""
    state_noise: float = 0.1
    """Noise on the state, in deviations of the state over the kept frames of the task."""
    image_shift: float = 0.08
    """The farthest that an image is moved, across and down, as a share of its size."""
    asked_share: float = 0.2
    """Share of the rehearsed frames that give way to frames of the new task under the instruction
    of an earlier one in the same scene; none where no earlier task shares the scene."""
    same_scene: float = 0.3
    """Two tasks share a scene if the cosine of their mean visual prototypes, less the mean of all
    tasks, is above this."""
    questions: int = 100
    """Number of frames of the new task that are asked, for each earlier one in its scene."""

    def __post_init__(self) -> None:
        check_ranges(
            self,
            share=SHARE,
            copies=COUNT,
            state_noise=AMOUNT,
            image_shift=AMOUNT,
            asked_share=SHARE,
            same_scene=between(-1, 1),
            questions=COUNT,
        )
        if self.share + self.asked_share > 1:
            raise BadInput(
                f"share {self.share}, asked_share {self.asked_share}; expected together at most 1"
            )

    @property
    def asks(self) -> frozenset[str]:
        return frozenset({"outputs"})

    def after_task(self, state: RuleState, done: FinishedTask) -> RuleState:
        """Add what the policy does beside the frames that stay, now that it has learnt the task."""
        import torch

        if not done.kept:
            return state
        rng = done.stream()
        kept = done.rows.samples(done.kept)
        still = torch.from_numpy(kept.states).repeat_interleave(self.copies, 0)
        noise = torch.from_numpy(rng.standard_normal(still.shape)).float()
        moves = torch.from_numpy(rng.uniform(-1, 1, (self.copies, 2))).float() * self.image_shift
        states = still + self.state_noise * still.std(0, correction=0) * noise
        beside = _beside(kept, moves, states)
        actions = answers(done.policy, beside)
        # Only in a run, whose rows can be added to: Replay refuses a rule that makes frames up.
        rows = cast(ImaginedFrames, done.rows)
        rows.imagine(BESIDE + done.task, replace(beside, actions=actions))
        new = {
            "places": places_of(done.kept),
            "moves": moves,
            "states": states,
            "actions": torch.from_numpy(actions),
        }
        return {**state, **{f"{kind}/{done.task}": value for kind, value in new.items()}}

    def for_task(self, sampler: Sampler, state: RuleState, begun: BegunTask) -> Sampler:
        """The sampler, some of whose frames give way."""
        if sampler.measured is not None:
            raise BadInput(
                f"imagined frames beside a draw that measures ({type(sampler).__name__}); "
                "choose a draw by fixed weights"
            )
        # Sorted: tensors come back from a file in another order than they were left in.
        tasks = sorted(name.removeprefix("places/") for name in state if name.startswith("places/"))
        if not tasks:
            return sampler
        near: dict[FrameRef, int] = {}
        for task in tasks:
            kept = refs_at(task, state[f"places/{task}"])
            # Frames of earlier tasks are there already, unless the run was taken up again.
            if BESIDE + task not in begun.rows:
                begun.rows.imagine(BESIDE + task, _remembered(begun.rows, kept, state, task))
            first = len(near) * self.copies
            near |= {ref: first + k * self.copies for k, ref in enumerate(kept)}
        asked = (
            frames_under_old_instructions(begun, same_scene=self.same_scene, count=self.questions)
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
class ImaginedSampler(Sampler):
    """Draws as before, then lets single frames give way; depends on stream and step alone."""

    drawn: Sampler
    rule: Imagined
    near: Mapping[FrameRef, int]
    """For every stored frame, the first of the frames beside it."""
    num_asked: int
    """Number of frames of the new task, which come after all of those."""
    stream: Stream

    @property
    def is_fixed(self) -> bool:
        return self.drawn.is_fixed

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


def _remembered(rows: Frames, kept: Sequence[FrameRef], state: RuleState, task: str) -> Samples:
    """The frames beside a task's own, with the actions that the policy gave at the time."""
    states, actions, moves = (state[f"{kind}/{task}"] for kind in OWN)
    return replace(_beside(rows.samples(kept), moves, states), actions=actions.numpy())


def _beside(
    kept: Samples, moves: Float[Tensor, "copies 2"], states: Float[Tensor, "rows state"]
) -> Samples:
    """Every kept frame by each move in turn, with these states; all else is the frame's."""
    copies = len(moves)
    return Samples(
        images=shifted(kept.images, moves),
        states=states.numpy(),
        instructions=tuple(text for text in kept.instructions for _ in range(copies)),
        actions=np.repeat(kept.actions, copies, axis=0),
        valid=np.repeat(kept.valid, copies, axis=0),
    )
