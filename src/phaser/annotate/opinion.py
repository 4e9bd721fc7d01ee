"""The vision-language model's judgement of one demonstration, decision by decision."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from phaser.annotate.marks import Marks
from phaser.core.demonstration import Demo, Images
from phaser.core.errors import BadInput, PhaserError
from phaser.phases.candidates import Candidate
from phaser.phases.transfer import Source
from phaser.phases.verify import Unverified, Verifier
from phaser.phases.verify_answer import Verdict

Action = Literal["name", "accept", "relocate", "insert", "reject"]


class NoOpinion(PhaserError):
    """The model gave no answer that can be used; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """One thing that the model says about a demonstration, with its reason."""

    action: Action
    step: int
    """The candidate's step; the model's own where it inserts a boundary."""
    to: int
    """The step at which the phase begins, as the model sees it."""
    name: str = ""
    """The name of the phase that begins there; empty where the model rejects a candidate."""
    reason: str = ""

    def applied(self, marks: Marks) -> Marks:
        """The marks after a person has accepted this decision."""
        if self.action == "name":
            return marks.renamed(0, self.name)
        if self.action == "reject":
            return marks.without_boundary(self.step) if self.step in marks.boundaries else marks
        if self.to in marks.boundaries:
            marks = _from_model(marks, self.to)
        elif self.action == "relocate" and self.step in marks.boundaries:
            marks = marks.moved(self.step, self.to, source="model")
        else:
            return marks.with_boundary(self.to, name=self.name, source="model")
        phase = marks.boundaries.index(self.to) + 1
        return marks if marks.names[phase] == self.name else marks.renamed(phase, self.name)

    def holds_in(self, marks: Marks) -> bool:
        """True where the marks say what the model says, whoever put them there."""
        if self.action == "name":
            return marks.names[:1] == (self.name,)
        if self.action == "reject":
            return self.step not in marks.boundaries
        if self.to not in marks.boundaries:
            return False
        return marks.names[marks.boundaries.index(self.to) + 1] == self.name


@dataclass(kw_only=True, slots=True)
class Opinion:
    """All decisions of a model on one demonstration, and which of them a person refused."""

    model: str
    decisions: tuple[Decision, ...]
    refused: set[int] = field(default_factory=set)

    def decision(self, number: int) -> Decision:
        if not 0 <= number < len(self.decisions):
            raise BadInput(f"there is no decision {number}; there are {len(self.decisions)}")
        return self.decisions[number]

    def all_applied(self, num_frames: int) -> Marks:
        """The marks with every boundary and every name as the model has them."""
        begun = [one for one in self.decisions if one.action not in ("name", "reject")]
        model: Source = "model"
        first = next(one.name for one in self.decisions if one.action == "name")
        return Marks(
            num_frames=num_frames,
            boundaries=tuple(one.to for one in begun),
            sources=(model,) * len(begun),
            names=(first, *(one.name for one in begun)),
            state="candidate",
            edited=True,
        )

    def to_json(self, marks: Marks) -> dict[str, Any]:
        """The form of the page; a decision is open, agreed (the marks say the same) or refused."""
        return {
            "model": self.model,
            "decisions": [
                {
                    "action": one.action,
                    "step": one.step,
                    "to": one.to,
                    "name": one.name,
                    "reason": one.reason,
                    "state": self._state(number, one, marks),
                }
                for number, one in enumerate(self.decisions)
            ],
        }

    def _state(self, number: int, decision: Decision, marks: Marks) -> str:
        if decision.holds_in(marks):
            return "agreed"
        return "refused" if number in self.refused else "open"


def ask(
    verifier: Verifier,
    demo: Demo,
    *,
    candidates: Sequence[Candidate],
    instruction: str,
    reading: AbstractContextManager[Any],
) -> Opinion:
    """Ask the model about one demonstration; `reading` is held while its images are read."""
    cameras = {name: _Shared(images, reading) for name, images in demo.cameras.items()}
    outcome = verifier.verify(replace(demo, cameras=cameras), candidates, instruction)
    model = verifier.vlm.server.model
    if isinstance(outcome, Unverified):
        raise NoOpinion(f"{model} gave no answer that can be used: {outcome.reason}")
    return Opinion(model=model, decisions=decisions_of(outcome))


def decisions_of(verdict: Verdict) -> tuple[Decision, ...]:
    """The verdict as decisions in the order of time; the name of the first phase comes first."""
    kinds: dict[str, Action] = {
        "accepted": "accept",
        "relocated": "relocate",
        "inserted": "insert",
    }
    first = Decision(action="name", step=0, to=0, name=verdict.names[0])
    begun = [
        Decision(
            action=kinds[one.origin],
            step=one.step if one.candidate is None else one.candidate,
            to=one.step,
            name=name,
            reason=one.reason,
        )
        for one, name in zip(verdict.boundaries, verdict.names[1:], strict=True)
    ]
    rejected = [
        Decision(action="reject", step=one.step, to=one.step, reason=one.reason)
        for one in verdict.rejections
    ]
    return (first, *sorted([*begun, *rejected], key=lambda one: one.to))


class _Shared:
    """Images that are read only while nobody else reads from the same files."""

    def __init__(self, images: Images, reading: AbstractContextManager[Any]) -> None:
        self._images, self._reading = images, reading

    def __len__(self) -> int:
        return len(self._images)

    def read(self, frames: Sequence[int]) -> np.ndarray:
        with self._reading:
            return self._images.read(frames)


def _from_model(marks: Marks, step: int) -> Marks:
    at = marks.boundaries.index(step)
    sources = (*marks.sources[:at], "model", *marks.sources[at + 1 :])
    return replace(marks, sources=sources, edited=True)
