"""Auto-PC, stage 1 alone: phases of a task from the action signal of a typical demonstration.

Paper, section "Automated Phase Boundary Sourcing" and its appendix. The strongest candidates of
the representative demonstration become the boundaries of all; verification by a vision-language
model comes on top of this and is not part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.core.ports import Segmenter
from phaser.core.ranges import AMOUNT, COUNT, check_ranges
from phaser.core.segmentation import Segmentation
from phaser.phases.align import Alignment
from phaser.phases.candidates import Candidate, candidates
from phaser.phases.labels import labels
from phaser.phases.lapse import DropIdle, Lapse, lapse
from phaser.phases.reference import idle_remarks, reference_of
from phaser.phases.signals import PAPER_RULES, SignalRules, signals
from phaser.phases.transfer import Placed, by_ratio

Boundaries = Literal["per-demo", "ratio"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AutoPC(Segmenter):
    """Cuts every demonstration of a task into the same phases, without annotation."""

    boundaries: Boundaries = "per-demo"
    """"per-demo" finds the same events, in order, in every demonstration; "ratio" copies the
    representative's ratios (the paper)."""
    max_phases: int = 5
    """The most phases of a task."""
    min_phase_frames: int = 3
    """The fewest frames of a phase; a candidate nearer to another boundary is left out."""
    min_score: float = 0.18
    """Below this score a candidate is no boundary, unless the gripper closes or opens there for
    good; with none left, one phase."""
    drop_idle: DropIdle = "auto"
    """Find phases on the steps that move, and give them back in original steps: "auto" where most
    steps are idle, "always", or "never"."""
    signals: SignalRules = field(default_factory=SignalRules)
    """How the boundary score is computed from actions."""

    def __post_init__(self) -> None:
        for name, value, kind in (
            ("boundaries", self.boundaries, Boundaries),
            ("drop_idle", self.drop_idle, DropIdle),
        ):
            if value not in get_args(kind):
                known = ", ".join(repr(one) for one in get_args(kind))
                raise BadInput(f"{name} {value!r}; expected one of {known}")
        check_ranges(self, max_phases=COUNT, min_phase_frames=COUNT, min_score=AMOUNT)

    def segment(self, demos: Sequence[Demo]) -> tuple[Segmentation, ...]:
        """The phases of every demonstration, in its own steps; names are the same in all."""
        seen = [self.lapse(demo) for demo in demos]
        position = reference_of(seen)
        chosen = self._chosen(seen[position])
        carried = self._carried([one.step for one in chosen], seen, position)
        return segmentations(carried, demos, labels(chosen, demos[position]))

    def lapse(self, demo: Demo) -> Lapse:
        """Take the idle steps out of a demonstration, if `drop_idle` says so."""
        return lapse(demo, self.signals, drop_idle=self.drop_idle)

    def reference(self, demos: Sequence[Demo]) -> int:
        """Position of the demonstration whose phases all get, wherever in the list it stands."""
        return reference_of([self.lapse(demo) for demo in demos])

    def candidates(self, demo: Demo) -> tuple[Candidate, ...]:
        """The candidates of a demonstration, in its own steps."""
        seen = self.lapse(demo)
        return _in_own_steps(self._proposed(seen), seen)

    def chosen(self, demo: Demo) -> tuple[Candidate, ...]:
        """The candidates that become boundaries, in the demonstration's own steps."""
        return self._chosen(self.lapse(demo))

    def score(self, demo: Demo) -> Float[np.ndarray, "frames"]:
        """The boundary score at every step of a demonstration; zero where it was idle."""
        seen = self.lapse(demo)
        score = np.zeros(demo.num_frames)
        score[seen.steps] = signals(seen.demo, self.signals).score
        return score

    def remarks(self, demos: Sequence[Demo]) -> tuple[str, ...]:
        """Sentences that a user should read about these demonstrations."""
        return idle_remarks([self.lapse(demo) for demo in demos])

    def carry(
        self, boundaries: Sequence[int], demos: Sequence[Demo], *, reference: int
    ) -> tuple[tuple[Placed, ...], ...]:
        """Carry the boundaries of one demonstration over to all of them.

        Args:
            boundaries: steps of the reference, idle ones counted; they stay where they are.
            demos: the demonstrations of one task.
            reference: the position of the one that the boundaries belong to.
        """
        return self._carried(boundaries, [self.lapse(demo) for demo in demos], reference)

    def strongest(
        self, found: Sequence[Candidate], num_frames: int, *, grip_frames: int | None = None
    ) -> list[Candidate]:
        """The gripper's events, then the highest candidates, as far as phases stay long enough.

        Args:
            found: candidates of one demonstration.
            num_frames: frames of that demonstration.
            grip_frames: how short a phase may be that a gripper's event begins or ends; None:
                `min_phase_frames`.
        """
        chosen: list[Candidate] = []
        grip_frames = self.min_phase_frames if grip_frames is None else grip_frames
        for candidate in sorted(found, key=lambda one: (not one.grips, -one.score, one.step)):
            too_weak = candidate.score < self.min_score and not candidate.grips
            if too_weak or len(chosen) == self.max_phases - 1:
                break
            edges = [0, num_frames, *(one.step for one in chosen)]
            fewest = grip_frames if candidate.grips else self.min_phase_frames
            if min(abs(candidate.step - edge) for edge in edges) >= fewest:
                chosen.append(candidate)
        return sorted(chosen, key=lambda one: one.step)

    def _proposed(self, seen: Lapse) -> tuple[Candidate, ...]:
        return candidates(seen.demo, self.signals, grips=seen.grips)

    def _chosen(self, seen: Lapse) -> tuple[Candidate, ...]:
        chosen = self.strongest(
            self._proposed(seen), len(seen.steps), grip_frames=self._least(seen)
        )
        return _in_own_steps(chosen, seen)

    def _least(self, *seen: Lapse) -> int:
        """Fewest steps of a phase at the gripper's events; few moving steps may last long."""
        whole = all(len(one.steps) == one.taken_from.num_frames for one in seen)
        return self.min_phase_frames if whole else 1

    def _carried(
        self, boundaries: Sequence[int], seen: Sequence[Lapse], reference: int
    ) -> tuple[tuple[Placed, ...], ...]:
        kept = [seen[reference].kept(step) for step in boundaries]
        edges = [0, *kept, len(seen[reference].steps)]
        if any(later <= earlier for earlier, later in pairwise(edges)):
            # Boundaries that others placed may lie in one stretch of idle steps.
            seen, kept = [one.whole() for one in seen], list(boundaries)
        fitting = [one if len(one.steps) > len(kept) else one.whole() for one in seen]
        own = tuple(Placed(step=step, source="event") for step in boundaries)
        typical = seen[reference].taken_from.actions
        return tuple(
            own
            # A copy of the reference may be anywhere, so it must not matter which of them it is.
            if np.array_equal(its.taken_from.actions, typical)
            else tuple(replace(one, step=its.original(one.step)) for one in found)
            for found, its in zip(self._placed(kept, fitting, reference), fitting, strict=True)
        )

    def _placed(
        self, boundaries: Sequence[int], seen: Sequence[Lapse], reference: int
    ) -> Sequence[Sequence[Placed]]:
        """The boundaries in each demonstration, in steps that were kept."""
        demos = [one.demo for one in seen]
        if self.boundaries == "per-demo":
            rule = Alignment(
                min_phase_frames=self._least(*seen),
                all_grips=any(one.by_hand for one in seen),
                signals=self.signals,
            )
            grips = [one.grips for one in seen]
            return rule.carry(boundaries, demos, reference=reference, grips=grips)
        ratios = [step / demos[reference].num_frames for step in boundaries]
        return [_placed_by_ratio(ratios, demo) for demo in demos]


PAPER_SEGMENTER = AutoPC(boundaries="ratio", drop_idle="never", signals=PAPER_RULES)
"""The paper's stage 1 to the letter: its score, no step left out, the ratios of one for all."""


def segmentations(
    carried: Sequence[Sequence[Placed]], demos: Sequence[Demo], names: Sequence[str]
) -> tuple[Segmentation, ...]:
    """The phases between the placed boundaries of each demonstration."""
    return tuple(
        Segmentation.from_boundaries(
            [one.step for one in placed], num_frames=demo.num_frames, labels=names
        )
        for placed, demo in zip(carried, demos, strict=True)
    )


def _in_own_steps(found: Sequence[Candidate], seen: Lapse) -> tuple[Candidate, ...]:
    return tuple(replace(one, step=seen.original(one.step)) for one in found)


def _placed_by_ratio(ratios: Sequence[float], demo: Demo) -> tuple[Placed, ...]:
    steps = by_ratio(ratios, num_frames=demo.num_frames, min_phase_frames=1)
    return tuple(Placed(step=step, source="ratio") for step in steps)
