"""Every state of a terminal of 80 × 24 while a command of ours runs in it."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pyte

COLUMNS, ROWS = 80, 24
CTRL_C = b"\x03"
SEEN_S = 0.1
"""A screen that stands for less is being drawn; nobody reads it."""

Frame = tuple[str, ...]
"""The lines of a screen."""


class Film:
    """What was on the screen, and for how long."""

    def __init__(self) -> None:
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._times = [time.monotonic()]
        self.frames: list[Frame] = [("",) * ROWS]
        self.text = b""
        self.exit_code: int | None = None

    def feed(self, chunk: bytes) -> None:
        self.text += chunk
        self._stream.feed(chunk)
        self._times.append(time.monotonic())
        self.frames.append(tuple(line.rstrip() for line in self._screen.display))

    def seen(self) -> Iterator[Frame]:
        """The screens that stood long enough to be read."""
        for frame, begun, ended in zip(self.frames, self._times, self._times[1:], strict=False):
            if ended - begun >= SEEN_S:
                yield frame

    def longest_blank_s(self) -> float:
        """The longest time for which nothing was on the screen, the start included."""
        longest, since = 0.0, self._times[0]
        for frame, begun, ended in zip(self.frames, self._times, self._times[1:], strict=False):
            if any(frame):
                since = ended
            else:
                since = min(since, begun)
                longest = max(longest, ended - since)
        return longest

    def longest_silence_s(self) -> float:
        """The longest time without a sign of life."""
        return max(b - a for a, b in zip(self._times, self._times[1:], strict=False))


def filmed(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    longest_s: float,
    interrupt: Callable[[Frame], bool] = lambda frame: False,
) -> Film:
    """Run `phaser WORDS` in a terminal; Ctrl-C is typed once a screen that can be read asks for it.

    A command that takes longer than it may is killed and has no exit code.
    """
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    found, end = Film(), time.monotonic() + longest_s
    process = subprocess.Popen(
        [sys.executable, "-m", "phaser.cli", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=environment,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(theirs)
    typed = False
    try:
        while time.monotonic() < end:
            if not select.select([ours], [], [], SEEN_S)[0]:
                # Nothing came for so long: the last screen can be read.
                if not typed and interrupt(found.frames[-1]):
                    os.write(ours, CTRL_C)
                    typed = True
                continue
            try:
                chunk = os.read(ours, 4096)
            except OSError:
                break
            if not chunk:
                break
            found.feed(chunk)
        with suppress(subprocess.TimeoutExpired):
            found.exit_code = process.wait(max(1.0, end - time.monotonic()))
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return found


def _take_terminal() -> None:
    """Make the terminal on standard input the one whose keys reach this session."""
    from termios import TIOCSCTTY

    # A shell without job control has its background commands ignore Ctrl-C, which is inherited.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ioctl(0, TIOCSCTTY, 0)
