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
from phaser.phases.signals import SignalRules, closing, scaled_motion
from phaser.phases.transfer import Placed, by_ratio

_GRIPPER_REACH = 2


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
    signals: SignalRules = field(default_factory=SignalRules)

    def __post_init__(self) -> None:
        prices = (self.time_weight, self.motion_weight, self.gripper_weight, self.unmatched)
        counts = (self.surroundings, self.min_phase_frames, self.max_candidates)
        if min(prices) < 0 or min(counts) < 1:
            raise BadInput(f"prices {prices}, counts {counts}; expected at least 0 and at least 1")

    def carry(
        self, boundaries: Sequence[int], demos: Sequence[Demo], *, reference: int
    ) -> tuple[tuple[Placed, ...], ...]:
        """The boundaries of demonstration `reference` in each one, one for one and in order.

        In the reference itself they stay where they are.
        """
        typical = demos[reference]
        edges = [0, *boundaries, typical.num_frames]
        if any(later <= earlier for earlier, later in pairwise(edges)):
            raise BadInput(
                f"boundaries {list(boundaries)} of {typical.num_frames} frames; "
                "expected increasing steps inside the demonstration"
            )
        wanted = self._surroundings(typical, np.array(boundaries, dtype=np.intp))
        own = tuple(Placed(step=step, source="event") for step in boundaries)
        return tuple(
            own if position == reference else self._place(edges, wanted, demo)
            for position, demo in enumerate(demos)
        )

    def _place(
        self, edges: Sequence[int], wanted: Float[np.ndarray, "boundaries numbers"], demo: Demo
    ) -> tuple[Placed, ...]:
        rules = replace(self.signals, max_candidates=self.max_candidates)
        events = np.array([one.step for one in candidates(demo, rules)], dtype=np.intp)
        offered = self._surroundings(demo, events)
        gap = max(1, min(self.min_phase_frames, demo.num_frames // (len(edges) - 1)))
        table = _Table(
            times=np.array(edges),
            steps=[np.array([0]), *[events] * len(wanted), np.array([demo.num_frames])],
            mismatch=np.abs(wanted[:, None] - offered[None]).sum(axis=2),
            time_weight=self.time_weight,
            unmatched=self.unmatched,
            gap=gap,
        )
        return _filled_by_ratio(edges, table.cheapest(), demo.num_frames, gap)

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
class _Table:
    """Dynamic programme over (boundary, event); row 0 is the start, the last row the end."""

    times: Int[np.ndarray, "rows"]
    steps: list[Int[np.ndarray, "_"]]
    mismatch: Float[np.ndarray, "boundaries events"]
    time_weight: float
    unmatched: float
    gap: int

    def cheapest(self) -> dict[int, int]:
        """Step of each matched boundary, by its position; those left out found no event."""
        best: list[Float[np.ndarray, "_"]] = [np.zeros(1)]
        links: list[Int[np.ndarray, "_ 2"]] = [np.zeros((1, 2), dtype=np.intp)]
        for row in range(1, len(self.times)):
            cost, link = self._row(row, best)
            own = self.mismatch[row - 1] if row <= len(self.mismatch) else 0.0
            best.append(cost + own)
            links.append(link)
        return self._matches(best, links)

    def _row(
        self, row: int, best: list[Float[np.ndarray, "_"]]
    ) -> tuple[Float[np.ndarray, "events"], Int[np.ndarray, "events 2"]]:
        """Cheapest way to each event of a row from any row above; skipped rows stay unmatched."""
        here = self.steps[row]
        cost = np.full(len(here), np.inf)
        link = np.zeros((len(here), 2), dtype=np.intp)
        for above in range(row):
            if not len(here) or not len(best[above]):
                continue
            ways = best[above][:, None] + self._time_cost(above, row)
            ways += self.unmatched * (row - above - 1)
            cheapest = ways.argmin(axis=0)
            reached = ways[cheapest, np.arange(len(here))]
            better = reached < cost
            cost = np.where(better, reached, cost)
            link[better, 0], link[better, 1] = above, cheapest[better]
        return cost, link

    def _time_cost(self, above: int, row: int) -> Float[np.ndarray, "from to"]:
        """How much slower or faster than the reference; infinite where phases do not fit in."""
        passed = self.steps[row][None] - self.steps[above][:, None]
        share = np.maximum(passed, 1) / self.steps[-1][0]
        expected = (self.times[row] - self.times[above]) / self.times[-1]
        late = self.time_weight * np.abs(np.log(share / expected))
        return np.where(passed >= self.gap * (row - above), late, np.inf)

    def _matches(
        self,
        best: list[Float[np.ndarray, "_"]],
        links: list[Int[np.ndarray, "_ 2"]],
    ) -> dict[int, int]:
        matches: dict[int, int] = {}
        if not np.isfinite(best[-1][0]):
            return matches
        row, event = links[-1][0]
        while row > 0:
            matches[int(row) - 1] = int(self.steps[row][event])
            row, event = links[row][event]
        return matches


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
