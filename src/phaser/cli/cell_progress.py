"""How far one cell is, in words that fit a terminal of 80 columns."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from phaser.cli.text_table import printable
from phaser.cli.time_left import Pace, Work, quiet_seconds
from phaser.experiments.events import (
    Doing,
    Event,
    Finished,
    Measured,
    Prepared,
    Preparing,
    RolledOut,
    Stepped,
)
from phaser.experiments.run import Run

BAR = 20
"""Columns of a bar."""


@dataclass(kw_only=True, eq=False)
class CellProgress:
    """Follows the events of one cell."""

    run: Run
    label: str
    planned: Work
    done: dict[str, float] = field(default_factory=dict)
    started: bool = False
    finished: bool = False
    task: str = ""
    doing: str = "starting"
    loss: float | None = None
    solved: tuple[int, int] | None = None
    """Solved and tried rollouts of the newest evaluation."""
    speed: str = ""
    """Speed of the newest rollouts and whose work they are."""
    waits: bool = False
    """True while the cell cannot be at work: what it does is then no measure of its pace."""
    _at: float = 0.0
    _step: int = 0

    def __post_init__(self) -> None:
        self._names = [task.name for task in self.run.suite.tasks()]

    @property
    def share(self) -> float:
        """The share of the work that is done, in units."""
        return min(1.0, quiet_seconds(self.done) / quiet_seconds(self.planned))

    @property
    def left(self) -> Work:
        """What is still to do."""
        if self.finished:
            return {}
        return {kind: max(0, n - self.done.get(kind, 0)) for kind, n in self.planned.items()}

    def follow(self, event: Event, pace: Pace) -> None:
        """Take in what the cell tells, and at which pace it got there."""
        kind, units = self._work_of(event)
        now = time.monotonic()
        # Before its first event a cell may just have waited for its turn.
        if kind and self.started and not self.waits:
            pace.note(kind, units, now - self._at)
        if kind:
            self.done[kind] = min(self.done.get(kind, 0.0) + units, self.planned.get(kind, 0.0))
        self._at, self.started = now, True
        self._describe(event)

    def _work_of(self, event: Event) -> tuple[str, float]:
        """The kind and the units of work that an event ends."""
        if isinstance(event, Stepped):
            units, self._step = max(event.step - self._step, 0), event.step
            return "step", units
        if isinstance(event, RolledOut):
            return "rollout", 1
        if isinstance(event, Measured):
            return "measure", 1
        if isinstance(event, Preparing) and not self.started:
            return "start", 1
        if isinstance(event, Prepared):
            return "read", 1
        return "", 0

    def _describe(self, event: Event) -> None:
        if isinstance(event, Stepped):
            self.loss = event.loss
            self.doing = f"step {event.step} of {event.steps}"
        elif isinstance(event, RolledOut):
            before = self.solved if event.episodes > 1 and self.solved else (0, 0)
            self.solved = (before[0] + event.success, event.episodes)
            self.speed = speed_of(event)
            self.doing = f"trying: {event.planned - event.episodes} of {event.planned} left"
        elif isinstance(event, Preparing):
            self._begin(event.task)
            share = "" if event.share is None else f" {100 * event.share:.0f} %"
            self.doing = f"{event.doing} {printable(event.task)}{share}"
        elif isinstance(event, Prepared):
            self.doing, self.waits = "learning", False
        elif isinstance(event, Doing):
            self.doing = event.what
        elif isinstance(event, Measured):
            self.done = dict(planned_before(self.run, event.index + 1))
            self._step, self.loss = 0, event.loss
            self.solved = _sum(event.counts) if event.counts else None
            self.doing = "keeping what the task leaves"
        elif isinstance(event, Finished):
            self.finished = True

    def _begin(self, task: str) -> None:
        """A task's turn has come; a resumed cell has those before it behind."""
        if task != self.task and task in self._names:
            self.task, self._step = task, 0
            if not self.run.method.joint:
                before = planned_before(self.run, self._names.index(task))
                self.done = {k: max(n, self.done.get(k, 0)) for k, n in before.items()} | {
                    kind: n for kind, n in self.done.items() if kind not in before
                }

    @property
    def where(self) -> str:
        """The task whose turn it is."""
        if self.run.method.joint:
            return f"all {len(self._names)} tasks at once"
        if self.task not in self._names:
            return f"{len(self._names)} tasks"
        return f"task {self._names.index(self.task) + 1} of {len(self._names)}: {self.task}"

    @property
    def numbers(self) -> list[str]:
        """What is done now, and the newest loss and success, most important first."""
        found = [self.doing]
        if self.solved is not None:
            found.append(f"solved {self.solved[0]} of {self.solved[1]}")
        if self.loss is not None:
            found.append(f"loss {self.loss:.3f}")
        return found

    def lines(self, width: int, *, signs: str = "█░") -> list[str]:
        """Two lines: how far with which task, and what is going on."""
        filled = round(BAR * self.share)
        bar = signs[0] * filled + signs[1] * (BAR - filled)
        share = f"{100 * self.share:3.0f} %"
        first = fitting(
            width,
            f"{self.label}  {bar} {share}  {printable(self.where)}",
            f"{self.label}  {share}  {printable(self.where)}",
            f"{self.label}  {share}",
            share,
        )
        indent = " " * (len(self.label) + 2) if len(self.label) < 20 else "    "
        return [first, indent + joined(width - len(indent), self.numbers)]

    def one_line(self, width: int) -> str:
        """The same in one line, for many cells and for logs."""
        share = f"{100 * self.share:.0f} %"
        return joined(width, [f"{self.label}  {share} {printable(self.where)}", *self.numbers])


def planned_before(run: Run, index: int) -> Work:
    """Work of a cell up to the end of its first tasks, by kind."""
    tasks = run.suite.tasks()
    work: dict[str, float] = {
        "start": 1 if index else 0,
        "read": index,
        "step": run.fit.steps_per_task * index,
        "measure": index,
    }
    if run.suite.has_simulator:
        work["rollout"] = sum(_rollouts_after(run, k, len(tasks)) for k in range(index))
    return work


def work_of(run: Run) -> Work:
    """All work of a cell, by kind."""
    num_tasks = len(run.suite.tasks())
    work = planned_before(run, num_tasks)
    if run.method.joint and run.suite.has_simulator:
        work = {**work, "rollout": run.evaluation.rollouts_per_task * num_tasks}
    return {**work, "measure": 1} if run.method.joint else work


def _rollouts_after(run: Run, index: int, num_tasks: int) -> int:
    settings = run.evaluation
    if index == num_tasks - 1:
        return settings.rollouts_per_task * num_tasks
    return settings.learnt_rollouts + settings.earlier_rollouts * index


def fitting(width: int, *texts: str) -> str:
    """The first text that fits; the last one is cut where none does."""
    return next((text for text in texts if len(text) <= width), texts[-1][:width])


def joined(width: int, parts: list[str], *, between: str = " · ") -> str:
    """As many parts as fit into a line, the first ones first."""
    texts = [between.join(parts[:count]) for count in range(len(parts), 0, -1)]
    return fitting(width, *texts)


def speed_of(event: RolledOut) -> str:
    """How fast rollouts go, and which part of the work is whose."""
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in event.shares.items())
    return f"{event.episodes_per_s:.2g} rollouts/s ({shares})"


def _sum(counts: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    pairs = list(counts.values())
    return sum(solved for solved, _ in pairs), sum(tried for _, tried in pairs)
