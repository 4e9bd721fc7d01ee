"""What happens in a cell, as lines of JSON in its folder, for whoever watches from elsewhere.

Every run writes `events.jsonl`; a line is an event with its time. A line that a killed process
left half-written is skipped by readers.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

from phaser.core.files import writing
from phaser.experiments.events import Event, Notify, Stepped, failure_of

EVENTS = "events.jsonl"
STEPS_EVERY_S = 1.0
"""Training steps are logged no more often than this, but for a task's last."""
_KINDS = {kind.__name__: kind for kind in get_args(Event)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Logged:
    """An event, and when it happened."""

    event: Event
    time_s: float
    """Seconds since 1970, by the clock of the machine that ran the cell."""


class EventLog:
    """Appends to the log of one cell; the file is begun with the first event."""

    def __init__(self, path: Path) -> None:
        self._path, self._stepped_s = path, 0.0
        self.is_begun = False

    def __call__(self, event: Event) -> None:
        """Write one event down."""
        now = time.time()
        if isinstance(event, Stepped) and event.step < event.steps:
            if now - self._stepped_s < STEPS_EVERY_S:
                return
            self._stepped_s = now
        line = {"time": round(now, 3), "event": type(event).__name__, **asdict(event)}
        text = json.dumps(_plain(line), allow_nan=False) + "\n"
        # Opened for each line: a shared disk shows a line to others when its file is closed.
        with writing(self._path), self._path.open("a") as stream:
            # A process that was killed may have left half a line.
            stream.write(text if self.is_begun or not stream.tell() else f"\n{text}")
        self.is_begun = True


@contextmanager
def logged(path: Path, notify: Notify, alive: Callable[[], None]) -> Iterator[Notify]:
    """Log all that a cell tells, and the error that it ends with, if any.

    alive: called before each event; raises where the cell must not go on.
    """
    log = EventLog(path)

    def tell(event: Event) -> None:
        alive()
        log(event)
        notify(event)

    try:
        yield tell
    except Exception as error:
        if log.is_begun:
            log(failure_of(error))
        raise


def read_events(path: Path, offset: int = 0) -> tuple[list[Logged], int]:
    """Events after a place in the file, and the place to go on from."""
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            content = stream.read()
    except FileNotFoundError:
        return [], offset
    whole, _, _ = content.rpartition(b"\n")
    found = [one for line in whole.splitlines() if (one := _parsed(line)) is not None]
    return found, offset + (len(whole) + 1 if whole else 0)


def _parsed(line: bytes) -> Logged | None:
    try:
        values = json.loads(line)
        kind, time_s = _KINDS[values["event"]], float(values["time"])
        known = {field.name for field in fields(kind)}
        event = kind(**{name: one for name, one in values.items() if name in known})
    except (ValueError, TypeError, KeyError):
        return None
    return Logged(event=event, time_s=time_s)


def _plain(value: Any) -> Any:
    """The same without numbers that JSON does not know."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
