"""Auto-PC, stage 1 alone: phases of a task from the action signal of a typical demonstration.

Paper, section "Automated Phase Boundary Sourcing" and its appendix. The strongest candidates of
the representative demonstration become the boundaries of all; verification by a vision-language
model comes on top of this and is not part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.core.ports import Segmenter
from phaser.core.segmentation import Segmentation
from phaser.phases.align import Alignment
from phaser.phases.candidates import Candidate, candidates
from phaser.phases.labels import labels
from phaser.phases.representative import representative
from phaser.phases.signals import PAPER_RULES, SignalRules
from phaser.phases.transfer import Placed, by_ratio

Boundaries = Literal["per-demo", "ratio"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AutoPC(Segmenter):
    """Cuts every demonstration of a task into the same phases, without annotation."""

    boundaries: Boundaries = "per-demo"
    """"per-demo" finds the same events, in order, in every demonstration; "ratio" copies the
    representative's ratios (the paper)."""
    max_phases: int = 5
    min_phase_frames: int = 3
    min_score: float = 0.18
    """Below this score a candidate is no boundary; with none left, one phase."""
    signals: SignalRules = field(default_factory=SignalRules)

    def __post_init__(self) -> None:
        if self.boundaries not in get_args(Boundaries):
            known = ", ".join(repr(name) for name in get_args(Boundaries))
            raise BadInput(f"boundaries {self.boundaries!r}; expected one of {known}")
        if self.max_phases < 1 or self.min_phase_frames < 1:
            raise BadInput(
                f"max_phases {self.max_phases}, min_phase_frames {self.min_phase_frames}; "
                "both must be at least 1"
            )

    def segment(self, demos: Sequence[Demo]) -> tuple[Segmentation, ...]:
        position = representative(demos)
        typical = demos[position]
        chosen = self.strongest(candidates(typical, self.signals), typical.num_frames)
        carried = self.carry([one.step for one in chosen], demos, reference=position)
        return segmentations(carried, demos, labels(chosen))

    def carry(
        self, boundaries: Sequence[int], demos: Sequence[Demo], *, reference: int
    ) -> tuple[tuple[Placed, ...], ...]:
        """The boundaries of demonstration `reference` in every one; there they stay."""
        if self.boundaries == "per-demo":
            rule = Alignment(min_phase_frames=self.min_phase_frames, signals=self.signals)
            return rule.carry(boundaries, demos, reference=reference)
        ratios = [step / demos[reference].num_frames for step in boundaries]
        own = tuple(Placed(step=step, source="event") for step in boundaries)
        return tuple(
            own if position == reference else _placed_by_ratio(ratios, demo)
            for position, demo in enumerate(demos)
        )

    def strongest(self, found: Sequence[Candidate], num_frames: int) -> list[Candidate]:
        """The highest candidates that leave every phase its shortest length, in order of time."""
        chosen: list[Candidate] = []
        for candidate in sorted(found, key=lambda one: (-one.score, one.step)):
            if candidate.score < self.min_score or len(chosen) == self.max_phases - 1:
                break
            edges = [0, num_frames, *(one.step for one in chosen)]
            if min(abs(candidate.step - edge) for edge in edges) >= self.min_phase_frames:
                chosen.append(candidate)
        return sorted(chosen, key=lambda one: one.step)


PAPER_SEGMENTER = AutoPC(boundaries="ratio", signals=PAPER_RULES)
"""The paper's score and the paper's way to carry boundaries to other demonstrations."""


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


def _placed_by_ratio(ratios: Sequence[float], demo: Demo) -> tuple[Placed, ...]:
    steps = by_ratio(ratios, num_frames=demo.num_frames, min_phase_frames=1)
    return tuple(Placed(step=step, source="ratio") for step in steps)
