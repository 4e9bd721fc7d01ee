"""What is going on and how long it will take: bars on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from phaser.cli.text_table import duration
from phaser.experiments.events import (
    Event,
    Finished,
    Measured,
    Preparing,
    RolledOut,
    Stepped,
)
from phaser.experiments.run import Run

if TYPE_CHECKING:
    from rich.progress import TaskID

STEPS_PER_ROLLOUT = 10
"""A rollout costs about as much as ten training steps; only the time left depends on it."""


@dataclass(kw_only=True, eq=False)
class _Running:
    """How far one cell is."""

    run: Run
    label: str
    total: int
    bar: TaskID | None = None
    finished_work: int = 0
    step: int = 0
    episodes: int = 0
    speed: str = ""
    """Speed of the rollouts after the task that is being learnt."""

    @property
    def work(self) -> int:
        return self.finished_work + self.step + STEPS_PER_ROLLOUT * self.episodes


class Watch:
    """Follows recordings and cells; give its `cell` to `run_grid` and `recorded` to a recorder."""

    def __init__(self, cells: Sequence[Run], *, stream: TextIO | None = None) -> None:
        # Imported here: help and mistakes show no bars.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(file=stream or sys.stdout, highlight=False, soft_wrap=True)
        self._cells = {
            run.name: _Running(run=run, label=label, total=work_of(run))
            for run, label in zip(cells, labels(cells), strict=True)
        }
        self._started: float | None = None
        self._console = console
        self._recordings: tuple[int, int] = (0, 0)
        self._recordings_bar: TaskID | None = None
        columns = (TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[at]}"))
        self._bars = Progress(*columns, console=console, transient=True, disable=not self.has_bars)

    @property
    def has_bars(self) -> bool:
        return self._console.is_terminal

    def __enter__(self) -> Watch:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def say(self, line: str) -> None:
        self._console.print(line, markup=False)
        self._console.file.flush()

    def expect_recordings(self, count: int) -> None:
        self._recordings = (0, count)
        self._recordings_bar = self._bars.add_task("recordings", total=count, at=f"0/{count}")

    def recorded(self, task: str) -> None:
        done, count = self._recordings[0] + 1, self._recordings[1]
        self._recordings = (done, count)
        if self._recordings_bar is not None:
            self._bars.update(self._recordings_bar, completed=done, at=f"{done}/{count} {task}")
        if not self.has_bars:
            self.say(f"recorded {task} ({done} of {count})")

    def cell(self, name: str, event: Event) -> None:
        """Show what a cell tells."""
        running = self._cells[name]
        if running.bar is None:
            running.bar = self._bars.add_task(running.label, total=running.total, at="starting")
        if isinstance(event, Stepped):
            # From the first step on: starting processes says nothing about the rest.
            self._started = self._started or time.monotonic()
            running.step = event.step
            self._update(running, f"step {event.step}/{event.steps}")
        elif isinstance(event, RolledOut):
            running.episodes += 1
            running.speed = speed_of(event)
            self._update(running, f"tries {event.task} {evaluation_left(event)}")
        elif isinstance(event, Preparing):
            self._update(running, f"reads {event.task}")
        elif isinstance(event, Measured):
            running.finished_work, running.step, running.episodes = running.work, 0, 0
            self._update(running, "")
            left = "" if self.has_bars else self._time_left(" · about {} left")
            self.say(task_line(running.label, running.run, event) + running.speed + left)
            running.speed = ""
        elif isinstance(event, Finished):
            running.finished_work, running.step, running.episodes = running.total, 0, 0
            self._bars.remove_task(running.bar)

    def _update(self, running: _Running, what: str) -> None:
        if running.bar is None:
            return
        work = min(running.work, running.total)
        at = f"{100 * work // running.total} % {what}{self._time_left(' · all: {} left')}"
        self._bars.update(running.bar, completed=work, at=at)

    def _time_left(self, text: str) -> str:
        """The time that all remaining work takes at the speed so far."""
        done = sum(min(one.work, one.total) for one in self._cells.values())
        total = sum(one.total for one in self._cells.values())
        if self._started is None or done < total / 50 or done >= total:
            return ""
        return text.format(duration((time.monotonic() - self._started) * (total - done) / done))


def labels(cells: Sequence[Run]) -> list[str]:
    """The method where that tells the cells apart, else the whole name; padded to one width."""
    names = [run.method_name for run in cells]
    if len(set(names)) < len(names):
        names = [run.name for run in cells]
    width = max(map(len, names), default=0)
    return [name.ljust(width) for name in names]


def work_of(run: Run) -> int:
    """Training steps and rollouts of a cell, in units of steps."""
    num_tasks = len(run.suite.tasks())
    steps = run.fit.steps_per_task * num_tasks
    if not run.suite.has_simulator:
        return steps
    settings = run.evaluation
    rollouts = settings.rollouts_per_task * num_tasks
    if not run.method.joint:
        rollouts += settings.rollouts_per_task * (num_tasks - 1)
        rollouts += settings.earlier_rollouts * ((num_tasks - 1) * (num_tasks - 2) // 2)
    return steps + STEPS_PER_ROLLOUT * rollouts


def task_line(label: str, run: Run, event: Measured) -> str:
    """What a method can do after a task."""
    counts, num_tasks = event.counts, len(run.suite.tasks())
    if not counts:
        return f"{label}  {heldout_line(run, event)}"
    if run.method.joint:
        return f"{label}  all {num_tasks} tasks at once: {_of(counts.values())} rollouts solved"
    name = event.task
    line = f"{label}  task {event.index + 1}/{num_tasks} {name} learnt {_of([counts[name]])}"
    earlier = [tally for task, tally in counts.items() if task != name]
    if not earlier:
        return line
    share = sum(solved for solved, _ in earlier) / sum(tried for _, tried in earlier)
    tasks = "the earlier task" if len(earlier) == 1 else f"the {len(earlier)} earlier tasks"
    return f"{line} · of {tasks} {100 * share:.0f} % is left ({_of(earlier)} rollouts)"


def heldout_line(run: Run, event: Measured) -> str:
    """Held-out losses after a task, where there is no simulator."""
    losses, num_tasks = dict(event.heldout), len(run.suite.tasks())
    if run.method.joint:
        return f"all {num_tasks} tasks at once: held-out loss {_mean(losses.values())}"
    own = [losses.pop(event.task)] if event.task in losses else []
    line = f"task {event.index + 1}/{num_tasks} {event.task} learnt: held-out loss {_mean(own)}"
    if not losses:
        return line
    tasks = "the earlier task" if len(losses) == 1 else f"{len(losses)} earlier tasks"
    return f"{line} · of {tasks} {_mean(losses.values())}"


def speed_of(event: RolledOut) -> str:
    """How fast rollouts go, and which part of the work is whose."""
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in event.shares.items())
    return f" · {event.episodes_per_s:.2g} rollouts/s ({shares})"


def evaluation_left(event: RolledOut) -> str:
    """How far the rollouts after a task are."""
    left = "" if event.seconds_left is None else f", {duration(event.seconds_left)} left"
    return f"{event.episodes}/{event.planned}{left}{speed_of(event)}"


def _mean(losses: Collection[float]) -> str:
    return f"{sum(losses) / len(losses):.3f}" if losses else "not measured"


def _of(tallies: Any) -> str:
    pairs = list(tallies)
    return f"{sum(solved for solved, _ in pairs)}/{sum(tried for _, tried in pairs)}"
