"""One line of a doctor, and looking at what may crash from a safe distance: a child process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from phaser.core.errors import PhaserError


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """What was looked at, whether it is well, and the detail: what was found, or what mends it."""

    name: str
    ok: bool
    detail: str
    needed: bool = True
    """True where a failure of this check fails the doctor as a whole."""

    def line(self, width: int = 0) -> str:
        sign = "ok" if self.ok else "missing" if self.needed else "absent"
        return f"{sign:7}  {self.name.ljust(width)}  {self.detail}"


def checked(name: str, look: Callable[[], str], *, needed: bool = True) -> Check:
    """Look; an error that a user can mend becomes a failed check."""
    try:
        return Check(name=name, ok=True, detail=look(), needed=needed)
    except PhaserError as error:
        return Check(name=name, ok=False, detail=str(error), needed=needed)


def in_child(
    code: str, *, timeout_s: float, environment: Mapping[str, str] | None = None
) -> tuple[bool, str]:
    """Run a line of Python in a process of its own; whether it ended well, and what it said.

    A broken GL driver may kill the process that asks it to draw, or never answer.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {timeout_s:g} s"
    if done.returncode == 0:
        return True, done.stdout.strip()
    if done.returncode < 0:
        return False, f"the process was ended by {signal.Signals(-done.returncode).name}"
    said = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
    return False, said[-1].removeprefix("phaser: ")
