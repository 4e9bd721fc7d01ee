"""How long the rest takes: work is counted in units of several kinds, each at its own pace.

A rollout, a training step and a recorded demonstration cost very different times, so one average
over all of them jumps whenever a run goes from one kind to another. Each kind has a pace of its
own, which begins with what a quiet machine needs and follows what is measured.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

QUIET_S = {
    "start": 6.0,
    "record": 1.1,
    "read": 1.5,
    "step": 0.02,
    "rollout": 0.5,
    "measure": 0.5,
}
"""Seconds of one unit on a quiet machine: a start of processes, a recorded and encoded
demonstration, a task that is read, a training step, a rollout, a task that is measured and kept."""

TRUST_S = 10.0
"""Seconds of measured work that weigh as much as the table above."""

PULL_S = 20.0
"""Seconds in which a shown time follows most of the way to a new guess."""

SHORTEST_S = 5.0
"""Times below this are shown alike."""

Work = Mapping[str, float]
"""Units of work by kind."""


def quiet_seconds(work: Work) -> float:
    """Seconds that work takes on a quiet machine; the measure in which shares are given."""
    return sum(QUIET_S[kind] * units for kind, units in work.items())


@dataclass(kw_only=True, eq=False)
class Pace:
    """Seconds per unit of each kind of work, as measured so far."""

    units: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, kind: str, units: float, seconds: float) -> None:
        """Some units took that many seconds."""
        self.units[kind] = self.units.get(kind, 0.0) + units
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds

    def seconds_for(self, work: Work) -> float:
        """Seconds that work takes at this pace, one process for all of it."""
        return sum(self._seconds_per(kind) * units for kind, units in work.items())

    def _seconds_per(self, kind: str) -> float:
        guess = self._slowness() * QUIET_S[kind]
        weight = TRUST_S / guess
        spent = self.seconds.get(kind, 0.0) + weight * guess
        return spent / (self.units.get(kind, 0.0) + weight)

    def _slowness(self) -> float:
        """How much slower than a quiet machine this one is, over all kinds."""
        slow = (sum(self.seconds.values()) + TRUST_S) / (quiet_seconds(self.units) + TRUST_S)
        # That one kind is quicker than in the table promises nothing for the others.
        return max(1.0, slow)


def on_workers(seconds: Sequence[float], num_workers: int) -> float:
    """Seconds until the last of several cells ends; workers take them in order."""
    free = [0.0] * max(1, num_workers)
    for one in seconds:
        heapq.heapreplace(free, free[0] + one)
    return max(free)


@dataclass(kw_only=True, eq=False)
class Countdown:
    """A time left that counts down and follows new guesses slowly, so that it does not jump."""

    shown: float | None = None
    _at: float = 0.0

    def follow(self, guess: float, now: float) -> float:
        """The time to show, given the newest guess."""
        if self.shown is None:
            self.shown, self._at = guess, now
            return guess
        elapsed, self._at = now - self._at, now
        rest = max(self.shown - elapsed, 0.0)
        pulled = rest + (1 - math.exp(-elapsed / PULL_S)) * (guess - rest)
        # However wrong the last guess was, what is shown at most doubles or halves in that time.
        most = 2 ** (elapsed / PULL_S)
        self.shown = min(max(pulled, rest / most), max(self.shown, SHORTEST_S) * most)
        return self.shown
