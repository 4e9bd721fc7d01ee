"""How far the recordings are that background processes make."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from phaser.cli.cell_progress import BAR, fitting, joined
from phaser.cli.text_table import counted, printable, shortened
from phaser.cli.time_left import Pace, Work

USUAL_DEMOS = 30
"""Demonstrations of a task where nobody can tell their number in advance."""


@dataclass(kw_only=True, eq=False)
class RecordingProgress:
    """Follows the recording of several tasks."""

    shares: dict[str, float] = field(default_factory=dict)
    """How much of each task is recorded and encoded."""
    doing: dict[str, str] = field(default_factory=dict)
    """What is done with the tasks that are being recorded."""
    num_demos: int = USUAL_DEMOS
    _at: dict[str, float] = field(default_factory=dict)

    def expect(self, tasks: Collection[str], num_demos: int | None) -> None:
        """Begin with these tasks."""
        self.shares = dict.fromkeys(tasks, 0.0)
        self.num_demos = num_demos or USUAL_DEMOS

    def follow(self, task: str, doing: str, share: float | None, pace: Pace) -> None:
        """A demonstration of a task is recorded, or a part of the task encoded."""
        now, before = time.monotonic(), self.shares.get(task, 0.0)
        share = before if share is None else max(share, before)
        if share > before and task in self._at:
            pace.note("record", self.num_demos * (share - before), now - self._at[task])
        self._at[task], self.shares[task] = now, share
        self.doing[task] = doing

    def complete(self, task: str) -> None:
        """A task is recorded and encoded."""
        self.shares[task] = 1.0
        self.doing.pop(task, None)

    @property
    def counts(self) -> tuple[int, int]:
        """Complete and expected tasks."""
        return sum(1 for share in self.shares.values() if share >= 1), len(self.shares)

    @property
    def is_going_on(self) -> bool:
        done, count = self.counts
        return done < count

    @property
    def planned(self) -> Work:
        return {"record": float(self.num_demos * len(self.shares))}

    @property
    def done(self) -> Work:
        return {"record": self.num_demos * sum(self.shares.values())}

    @property
    def left(self) -> Work:
        return {"record": self.num_demos * sum(1 - share for share in self.shares.values())}

    def is_missing(self, task: str) -> bool:
        """True for a task that whoever needs it has to wait for."""
        return self.shares.get(task, 1.0) < 1

    def lines(self, width: int, *, signs: str) -> Iterator[str]:
        """A bar and what is being recorded; nothing when all is there."""
        if not self.is_going_on:
            return
        done, count = self.counts
        filled = round(BAR * sum(self.shares.values()) / count)
        bar = signs[0] * filled + signs[1] * (BAR - filled)
        yield fitting(
            width,
            f"recordings  {bar} {done} of {counted(count, 'task')} recorded and encoded",
            f"recordings: {done} of {counted(count, 'task')}",
        )
        indent = " " * len("recordings  ")
        if now := self._now(width - len(indent)):
            yield indent + joined(width - len(indent), now, between=", ")

    def one_line(self) -> list[str]:
        """The same for a log."""
        if not self.is_going_on:
            return []
        done, count = self.counts
        line = f"recordings: {done} of {counted(count, 'task')}"
        return [joined(79, [line, *self._now(79 - len(f"{line} · "))])]

    def _now(self, width: int) -> list[str]:
        """What is being done with which task, each in that many columns at most."""
        found = []
        for task, doing in [*self.doing.items()]:
            share = f"{100 * self.shares[task]:.0f} %"
            name = shortened(printable(task), width - len(f"{doing}  {share}"))
            found.append(f"{doing} {name} {share}")
        return found
