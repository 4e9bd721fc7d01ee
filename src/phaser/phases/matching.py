"""The cheapest way to match boundaries of one demonstration, in order, with events of another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MatchTable:
    """Dynamic programme over (boundary, event); row 0 is the start, the last row the end."""

    times: Int[np.ndarray, "rows"]
    """Steps of the reference: its start, its boundaries, its end."""
    steps: list[Int[np.ndarray, "_"]]
    """For each row the steps of the other demonstration that it may be matched with."""
    mismatch: Float[np.ndarray, "boundaries events"]
    time_weight: float
    """Price per e-fold by which the time since the match before is longer or shorter."""
    unmatched: Float[np.ndarray, "boundaries"]
    """Price of leaving each boundary without an event."""
    gap: int
    """Fewest steps between two boundaries."""

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
            ways += float(self.unmatched[above : row - 1].sum())
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
