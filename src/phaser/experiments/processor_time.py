"""Processor time of a cell by what it was spent on, across all processes that worked on it.

Notes about something else than processor time, such as the clock during rollouts, stand beside it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class ProcessorTime:
    """Starts to count when made; `before` is what earlier processes had spent."""

    def __init__(self, before: Mapping[str, float]) -> None:
        self._before = dict(before)
        self._started_s = time.process_time()
        self._seconds: dict[str, float] = {}
        self._elsewhere_s = 0.0
        self._notes: dict[str, float] = {}

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Adds the time of a block to a named total."""
        started = time.process_time()
        try:
            yield
        finally:
            spent = time.process_time() - started
            self._seconds[name] = self._seconds.get(name, 0.0) + spent

    def add(self, name: str, seconds: float) -> None:
        """Processor time of another process that worked for this one."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds
        self._elsewhere_s += seconds

    def note(self, **amounts: float) -> None:
        """Amounts that add up, and are not processor time."""
        for name, amount in amounts.items():
            self._notes[name] = self._notes.get(name, 0.0) + amount

    @contextmanager
    def noted(self, name: str) -> Iterator[None]:
        """Notes the time of a block that stays part of training, for overhead tables."""
        started = time.process_time()
        try:
            yield
        finally:
            self.note(**{name: time.process_time() - started})

    def totals(self) -> dict[str, float]:
        """All named totals; what has no name was training."""
        total = time.process_time() - self._started_s + self._elsewhere_s
        named = sum(self._seconds.values())
        now = {**self._seconds, "train_s": total - named, "total_cpu_s": total, **self._notes}
        names = sorted({*self._before, *now})
        return {name: self._before.get(name, 0.0) + now.get(name, 0.0) for name in names}
