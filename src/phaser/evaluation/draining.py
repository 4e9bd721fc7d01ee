"""SIGTERM while rollouts run: what runs is finished, nothing new begins, then the process ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


@contextmanager
def termination_noted() -> Iterator[Callable[[], bool]]:
    """Gives a function that tells if SIGTERM came; a second SIGTERM does what it always does."""
    before = signal.getsignal(signal.SIGTERM)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before in (None, signal.SIG_IGN):
        yield lambda: False
        return
    asked = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        asked.set()
        signal.signal(signal.SIGTERM, before)

    signal.signal(signal.SIGTERM, note)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGTERM, before)


def end_as_asked() -> NoReturn:
    """End as SIGTERM ends a process; a handler of the program's own is called before."""
    os.kill(os.getpid(), signal.SIGTERM)
    raise SystemExit(128 + signal.SIGTERM)
