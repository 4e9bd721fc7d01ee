"""Carry boundaries to other demonstrations of the task by what happens there (beyond the paper).

The paper applies the ratios of one demonstration to all. Here every boundary looks for the event of
the other demonstration that it stands for: the boundaries are matched, in order, with the other's
candidates, by the motion before and after, the gripper, and the time between matches. A boundary
that finds no event is placed by ratio between its matched neighbours, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.phases.candidates import candidates
from phaser.phases.gripper import GripperEvent, directions, gripper_events
from phaser.phases.matching import MatchTable
from phaser.phases.signals import SignalRules, closing, scaled_motion
from phaser.phases.transfer import Placed, by_ratio

_GRIPPER_REACH = 2
_ELSEWHERE = 1000.0
"""Price of a gripper event's boundary at any other step, beyond all other prices together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """The rule that carries boundaries over; its prices were chosen on half of the tasks."""

    time_weight: float = 0.125
    """Price per e-fold by which the time since the match before is longer or shorter."""
    motion_weight: float = 0.7
    """Price of another motion before and after, per unit of scaled motion."""
    gripper_weight: float = 1.0
    """Price of another gripper change, per range of the command."""
    unmatched: float = 0.75
    """Price of leaving a boundary without an event."""
    surroundings: int = 5
    """Steps before and after a boundary whose mean motion is compared."""
    min_phase_frames: int = 3
    max_candidates: int = 16
    """Events of the other demonstration that are tried; more than stage 1 reports."""
    all_grips: bool = False
    """Another boundary gives way to an event of the gripper that the reference does not have."""
    signals: SignalRules = field(default_factory=SignalRules)

    def __post_init__(self) -> None:
        prices = (self.time_weight, self.motion_weight, self.gripper_weight, self.unmatched)
        counts = (self.surroundings, self.min_phase_frames, self.max_candidates)
        if min(prices) < 0 or min(counts) < 1:
            raise BadInput(f"prices {prices}, counts {counts}; expected at least 0 and at least 1")

    def carry(
        self,
        boundaries: Sequence[int],
        demos: Sequence[Demo],
        *,
        reference: int,
        grips: Sequence[Sequence[GripperEvent]] | None = None,
    ) -> tuple[tuple[Placed, ...], ...]:
        """The boundaries of demonstration `reference` in each one, one for one and in order.

        In the reference itself they stay where they are. `grips` are the events of each
        demonstration's gripper, where they are known already.
        """
        typical = demos[reference]
        edges = [0, *boundaries, typical.num_frames]
        if any(later <= earlier for earlier, later in pairwise(edges)):
            raise BadInput(
                f"boundaries {list(boundaries)} of {typical.num_frames} frames; "
                "expected increasing steps inside the demonstration"
            )
        events = grips or [gripper_events(demo, self.signals) for demo in demos]
        wanted = _Wanted(
            edges=edges,
            surroundings=self._surroundings(typical, np.array(boundaries, dtype=np.intp)),
            grips=events[reference] if self.signals.gripper_first else (),
        )
        own = tuple(Placed(step=step, source="event") for step in boundaries)
        return tuple(
            own if position == reference else self._place(wanted, demo, events[position])
            for position, demo in enumerate(demos)
        )

    def _place(
        self, wanted: _Wanted, demo: Demo, grips: Sequence[GripperEvent]
    ) -> tuple[Placed, ...]:
        edges = wanted.edges
        rules = replace(self.signals, max_candidates=self.max_candidates)
        found = candidates(demo, rules, grips=grips)
        events = np.array([one.step for one in found], dtype=np.intp)
        offered = self._surroundings(demo, events)
        elsewhere = self._elsewhere(edges[1:-1], wanted.grips, events, grips)
        gap = max(1, min(self.min_phase_frames, demo.num_frames // (len(edges) - 1)))
        table = MatchTable(
            times=np.array(edges),
            steps=[np.array([0]), *[events] * len(elsewhere), np.array([demo.num_frames])],
            mismatch=np.abs(wanted.surroundings[:, None] - offered[None]).sum(axis=2) + elsewhere,
            time_weight=self.time_weight,
            unmatched=self.unmatched + np.maximum(elsewhere.max(axis=1, initial=0.0), 0),
            gap=gap,
        )
        return _filled_by_ratio(edges, table.cheapest(), demo.num_frames, gap)

    def _elsewhere(
        self,
        boundaries: Sequence[int],
        reference: Sequence[GripperEvent],
        events: Int[np.ndarray, "events"],
        grips: Sequence[GripperEvent],
    ) -> Float[np.ndarray, "boundaries events"]:
        """Price of each event for each boundary, where a gripper asks for another one."""
        own = _own_events(boundaries, reference, grips)
        prices = np.zeros((len(boundaries), len(events)))
        if self.all_grips:
            more = [one.step for one in grips if one.step not in own.values()]
            prices[:, np.isin(events, more)] = -_ELSEWHERE
        for position, step in own.items():
            prices[position] = np.where(events == step, 0.0, _ELSEWHERE)
        return prices

    def _surroundings(
        self, demo: Demo, steps: Int[np.ndarray, "steps"]
    ) -> Float[np.ndarray, "steps numbers"]:
        """Weighted mean motion before and after each step, and the gripper change around it."""
        motion = _running_sum(scaled_motion(demo, self.signals))
        gripper = _running_sum(closing(demo, self.signals)[:, None])
        first = np.maximum(steps - self.surroundings, 0)
        last = np.minimum(steps + self.surroundings, demo.num_frames)
        before = (motion[steps] - motion[first]) / np.maximum(steps - first, 1)[:, None]
        after = (motion[last] - motion[steps]) / np.maximum(last - steps, 1)[:, None]
        earliest = np.maximum(steps - _GRIPPER_REACH, 0)
        latest = np.minimum(steps + _GRIPPER_REACH + 1, demo.num_frames)
        change = gripper[latest] - gripper[earliest]
        half = self.motion_weight / 2
        return np.concatenate([half * before, half * after, self.gripper_weight * change], axis=1)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Wanted:
    """The boundaries of the reference: their steps between its two ends, and how to know them."""

    edges: Sequence[int]
    surroundings: Float[np.ndarray, "boundaries numbers"]
    grips: Sequence[GripperEvent]


def _own_events(
    boundaries: Sequence[int], reference: Sequence[GripperEvent], other: Sequence[GripperEvent]
) -> dict[int, int]:
    """By position, the boundaries at gripper events, and the step of the same event elsewhere.

    Where both close and open in the same order, the events are the same one by one. Where one of
    them lost its grip on the way, the first and the last are, as far as both close or open.
    """
    pairs = list(zip(reference, other, strict=False))
    if directions(reference) != directions(other):
        pairs = [*pairs[:1], *zip(reference[1:][-1:], other[1:][-1:], strict=False)]
    same = {one.step: its.step for one, its in pairs if one.closes == its.closes}
    return {k: same[step] for k, step in enumerate(boundaries) if step in same}


def _filled_by_ratio(
    edges: Sequence[int], matches: dict[int, int], num_frames: int, gap: int
) -> tuple[Placed, ...]:
    """Events where there are any; between them the reference's ratios."""
    num_boundaries = len(edges) - 2
    anchors = [(-1, 0), *sorted(matches.items()), (num_boundaries, num_frames)]
    placed: list[Placed] = []
    for (first, start), (last, stop) in pairwise(anchors):
        inner = edges[first + 2 : last + 1]
        span = edges[last + 1] - edges[first + 1]
        ratios = [(edge - edges[first + 1]) / span for edge in inner]
        steps = by_ratio(ratios, num_frames=stop - start, min_phase_frames=gap)
        placed += [Placed(step=start + step, source="ratio") for step in steps]
        if last < num_boundaries:
            placed.append(Placed(step=stop, source="event"))
    return tuple(placed)


def _running_sum(values: Float[np.ndarray, "frames dims"]) -> Float[np.ndarray, "edges dims"]:
    return np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
