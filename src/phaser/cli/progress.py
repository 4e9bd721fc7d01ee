"""What is going on and how long it will take: two lines per cell on a terminal, a log in a pipe.

Nothing here is ever silent: a terminal is redrawn several times a second, and a pipe gets a line at
least every twenty seconds, also while simulators start and demonstrations are recorded.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from phaser.cli.cell_progress import CellProgress, fitting, joined, work_of
from phaser.cli.recording_progress import RecordingProgress
from phaser.cli.streams import is_utf8
from phaser.cli.task_lines import task_line
from phaser.cli.text_table import duration
from phaser.cli.time_left import Countdown, Pace, on_workers, quiet_seconds
from phaser.experiments.events import Event, Measured, Preparing
from phaser.experiments.run import Run

if TYPE_CHECKING:
    from rich.text import Text

SILENCE_S = 20.0
"""The longest a pipe waits for a line."""
TICK_S = 1.0
FRAMES_PER_S = 4


class Watch:
    """Follows recordings and cells; give its `cell` to `run_grid` and `recorded` to a recorder."""

    def __init__(
        self,
        cells: Sequence[Run],
        *,
        stream: TextIO | None = None,
        num_workers: int = 1,
        verbose: bool = False,
    ) -> None:
        # Imported here: help and mistakes show no bars.
        from rich.console import Console
        from rich.live import Live

        out = stream or sys.stdout
        self._console = Console(file=out, highlight=False, soft_wrap=True)
        self._signs = "█░" if is_utf8(out) else "#-"
        self._cells = {
            run.name: CellProgress(run=run, label=label, planned=work_of(run))
            for run, label in zip(cells, labels(cells), strict=True)
        }
        self._recordings = RecordingProgress()
        self._num_workers, self._verbose = num_workers, verbose
        self._pace, self._countdown = Pace(), Countdown()
        self._begun = self._said = time.monotonic()
        self._ended = threading.Event()
        self._beat = threading.Thread(target=self._keep_talking, daemon=True)
        self._live = Live(
            get_renderable=self._screen,
            console=self._console,
            refresh_per_second=FRAMES_PER_S,
            transient=True,
        )

    @property
    def has_bars(self) -> bool:
        return self._console.is_terminal

    def __enter__(self) -> Watch:
        if self.has_bars:
            self._live.start()
        else:
            self._beat.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self.has_bars:
            self._live.stop()
        else:
            self._beat.join()

    def say(self, line: str) -> None:
        """Print a line that stays."""
        self._said = time.monotonic()
        self._console.print(line, markup=False)
        self._console.file.flush()

    def expect_recordings(self, tasks: Collection[str], num_demos: int | None = None) -> None:
        """Tasks will be recorded, with so many demonstrations each where that is known."""
        self._recordings.expect(tasks, num_demos)

    def recording(self, task: str, doing: str, share: float | None) -> None:
        """Something of a recording is done."""
        self._recordings.follow(task, doing, share, self._pace)

    def recorded(self, task: str) -> None:
        """A recording is complete."""
        self._recordings.complete(task)
        if not self.has_bars:
            done, count = self._recordings.counts
            self.say(f"recorded {task} ({done} of {count} tasks)")

    def cell(self, name: str, event: Event) -> None:
        """Show what a cell tells."""
        running = self._cells[name]
        if isinstance(event, Preparing):
            running.waits = self._recordings.is_missing(event.task)
        running.follow(event, self._pace)
        if isinstance(event, Measured):
            line = task_line(running.label, running.run, event, width=self._width)
            self.say(line)
            if self._verbose and running.speed:
                self.say(f"{' ' * len(running.label)}  {running.speed}")

    @property
    def _width(self) -> int:
        # A character less: a full line would make some terminals begin another.
        return min(100, self._console.width - 1) if self.has_bars else 79

    @property
    def share(self) -> float:
        """The share of all work that is done, in units."""
        cells = self._cells.values()
        done = sum(quiet_seconds(one.planned) * one.share for one in cells)
        total = sum(quiet_seconds(one.planned) for one in cells)
        done += quiet_seconds(self._recordings.done)
        total += quiet_seconds(self._recordings.planned)
        return done / total if total else 0.0

    def time_left(self) -> float:
        """Seconds that all remaining work takes, smoothed."""
        rest = [self._pace.seconds_for(one.left) for one in self._cells.values()]
        recordings = self._pace.seconds_for(self._recordings.left) / self._num_workers
        guess = on_workers([one for one in rest if one], self._num_workers) + recordings
        if not guess:
            return 0.0  # nothing is expected yet: a countdown from here would take minutes to climb
        now = time.monotonic()
        if not self.share:
            # A start that is slower than planned says that the rest will be.
            guess = max(guess, now - self._begun)
        return self._countdown.follow(guess, now)

    def _summary(self) -> str:
        so_far = duration(time.monotonic() - self._begun)
        parts = [f"in all {100 * self.share:.0f} %", f"{so_far} so far"]
        return joined(self._width, [*parts, f"about {duration(self.time_left())} left"])

    def _screen(self) -> Text:
        from rich.text import Text

        return Text("\n".join(self._lines()), no_wrap=True, overflow="crop")

    def _lines(self) -> Iterator[str]:
        """What a terminal shows below the lines that stay, in as many rows as it has."""
        width, rows = self._width, self._console.height - 4
        running = [one for one in self._cells.values() if one.started and not one.finished]
        yield from self._recordings.lines(width, signs=self._signs)
        if not running and not self._recordings.is_going_on:
            yield self._between()
        for one in running[: rows if 2 * len(running) > rows else len(running)]:
            if 2 * len(running) > rows:
                yield one.one_line(width)
            else:
                yield from one.lines(width, signs=self._signs)
        waiting = sum(1 for one in self._cells.values() if not one.started)
        if running and waiting:
            yield fitting(width, f"{waiting} more to come")
        yield self._summary()

    def _between(self) -> str:
        """What happens while no cell is at work."""
        if any(one.finished for one in self._cells.values()):
            return "ending: processes are closed and results checked"
        return "starting: Python, the policy and its encoders are loaded"

    def _keep_talking(self) -> None:
        """Say where a pipe's reader stands whenever nothing else was said for a while."""
        while not self._ended.wait(TICK_S):
            if time.monotonic() - self._said < SILENCE_S:
                continue
            busy = [one for one in self._cells.values() if one.started and not one.finished]
            lines = [one.one_line(79) for one in busy[:4]]
            lines += self._recordings.one_line()
            for line in lines or [self._between()]:
                self.say(line)
            self.say(self._summary())


def labels(cells: Sequence[Run]) -> list[str]:
    """The method where that tells the cells apart, else the whole name; padded to one width."""
    names = [run.method_name for run in cells]
    if len(set(names)) < len(names):
        names = [run.name for run in cells]
    width = max(map(len, names), default=0)
    return [name.ljust(width) for name in names]
