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
from phaser.core.segmentation import Segmentation
from phaser.phases.align import Alignment
from phaser.phases.candidates import Candidate, candidates
from phaser.phases.labels import labels
from phaser.phases.representative import representative
from phaser.phases.signals import STEADY_RULES, SignalRules
from phaser.phases.transfer import Landmark, by_ratio, snapped

Boundaries = Literal["per-demo", "ratio", "aligned"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AutoPC:
    """Cuts every demonstration of a task into the same phases, without annotation."""

    boundaries: Boundaries = "per-demo"
    """"ratio" copies the representative's ratios (the paper); "per-demo" snaps to own events;
    "aligned" matches events in order, by motion, gripper and pace."""
    max_phases: int = 5
    min_phase_frames: int = 3
    min_score: float = 0.45
    """Below this score a candidate is no boundary; with none left, one phase. Just above the weight
    of a slow onset, which alone does not make a phase: a pause belongs to the one it is in."""
    snap_window: float = 0.15
    """How far from its ratio a boundary may snap, as a share of the demonstration."""
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
        typical = demos[representative(demos)]
        chosen = self.strongest(candidates(typical, self.signals), typical.num_frames)
        names = labels(chosen)
        return tuple(
            Segmentation.from_boundaries(steps, num_frames=demo.num_frames, labels=names)
            for demo, steps in zip(demos, self._carried(typical, chosen, demos), strict=True)
        )

    def _carried(
        self, typical: Demo, chosen: Sequence[Candidate], demos: Sequence[Demo]
    ) -> list[list[int]]:
        if self.boundaries == "aligned":
            rule = Alignment(min_phase_frames=self.min_phase_frames, signals=self.signals)
            placed = rule.carry(typical, [one.step for one in chosen], demos)
            return [[one.step for one in steps] for steps in placed]
        landmarks = [
            Landmark(ratio=one.step / typical.num_frames, evidence=one.evidence) for one in chosen
        ]
        return [self._transfer(landmarks, demo) for demo in demos]

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

    def _transfer(self, landmarks: Sequence[Landmark], demo: Demo) -> list[int]:
        if self.boundaries == "ratio":
            return by_ratio(
                [landmark.ratio for landmark in landmarks],
                num_frames=demo.num_frames,
                min_phase_frames=1,
            )
        return snapped(
            landmarks,
            candidates(demo, self.signals),
            num_frames=demo.num_frames,
            min_phase_frames=self.min_phase_frames,
            window=self.snap_window,
        )


STEADY = AutoPC(boundaries="aligned", min_score=0.18, signals=STEADY_RULES)
"""Measured against ground truth (docs/segmentation.md): finds more, and also in teleoperation."""
