"""Progress in bytes: a bar on a terminal, plain lines in a pipe."""

from __future__ import annotations

import time
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from phaser.cli.text_table import duration, file_size

STEPS = 10
"""Lines of progress that a pipe gets for the whole."""
NEAREST_S, FARTHEST_S = 1.0, 30.0
"""Seconds that must pass, and that may pass at most, between two such lines."""


class ByteWatch:
    """Follows one thing after another: `begin` it, then call `add` whenever bytes came."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        columns = (TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[at]}"))
        self._bars = Progress(
            *columns, console=self._console, transient=True, disable=not self._console.is_terminal
        )
        self._bar: TaskID | None = None
        self._label, self._done, self._total = "", 0, 0
        self._started = self._said_at = 0.0
        self._said_step = 0

    def __enter__(self) -> ByteWatch:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def say(self, line: str) -> None:
        self._console.print(line, markup=False)
        self._console.file.flush()

    def begin(self, label: str, total: int) -> None:
        """Follow something new of `total` bytes, called `label`."""
        if self._bar is not None:
            self._bars.remove_task(self._bar)
        self._label, self._done, self._total = label, 0, total
        self._started = self._said_at = time.monotonic()
        self._said_step = 0
        self._bar = self._bars.add_task(label, total=total, at="")

    def add(self, num_bytes: int) -> None:
        """Bytes came; a negative number takes some back that must come again."""
        self._done += num_bytes
        if self._bar is not None:
            self._bars.update(self._bar, completed=self._done, at=self.line())
        if self._console.is_terminal or not self._total:
            return
        step, now = STEPS * self._done // self._total, time.monotonic()
        waited_s = now - self._said_at
        if (step > self._said_step and waited_s >= NEAREST_S) or waited_s > FARTHEST_S:
            self._said_step, self._said_at = step, now
            self.say(f"{self._label} {self.line()}")

    def line(self) -> str:
        """Bytes, share, and the time left if all goes on as fast as it has."""
        share = 100 * self._done // self._total if self._total else 100
        text = f"{file_size(self._done)} of {file_size(self._total)} ({share} %)"
        seconds = time.monotonic() - self._started
        if seconds < 5 or not 0 < self._done < self._total:
            return text
        return f"{text} · about {duration(seconds * (self._total - self._done) / self._done)} left"
