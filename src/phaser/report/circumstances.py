"""When, how long and on what machine runs were made, and which of them ran side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from phaser.core.errors import BrokenFile
from phaser.report.fields import read_object

if TYPE_CHECKING:
    from phaser.report.runs import RunResult


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """What `machine.json` tells; `None` where a run's version did not write it."""

    started: datetime | None = None
    finished: datetime | None = None
    machine: str | None = None

    def beside(self, other: Circumstances) -> bool:
        """Both were at work on one machine for most of the time that the shorter one took."""
        if self.machine is None or self.machine != other.machine:
            return False
        if not (self.started and self.finished and other.started and other.finished):
            return False
        both = min(self.finished, other.finished) - max(self.started, other.started)
        shorter = min(self.finished - self.started, other.finished - other.started)
        return both >= 0.5 * shorter


def read_circumstances(folder: Path) -> Circumstances:
    """Read `machine.json`, which older runs do not have."""
    path = folder / "machine.json"
    if not path.exists():
        return Circumstances()
    found = read_object(path)
    machine = found.get("machine")
    return Circumstances(
        started=_moment(found.get("started"), path),
        finished=_moment(found.get("finished"), path),
        machine=machine if isinstance(machine, str) else None,
    )


def told(runs: Sequence[RunResult]) -> str:
    """One sentence with dates, processor time and machines; empty where nothing is known."""
    parts = []
    days = sorted(
        moment.date().isoformat()
        for run in runs
        for moment in (run.circumstances.started, run.circumstances.finished)
        if moment is not None
    )
    if days:
        parts.append(days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}")
    seconds = [run.timing["total_cpu_s"] for run in runs if "total_cpu_s" in run.timing]
    if seconds:
        parts.append(f"{duration(sum(seconds))} of processor time")
    machines = dict.fromkeys(run.circumstances.machine for run in runs)
    parts += [name for name in machines if name is not None]
    return f"{' · '.join(parts)}." if parts else ""


def duration(seconds: float) -> str:
    """Seconds in the two largest units: 3 h 12 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s"))
    told = [f"{count} {unit}" for count, unit in units if count]
    return " ".join(told[:2]) or "0 s"


def _moment(text: object, path: Path) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BrokenFile(f"{path}: {text!r} is no moment with its zone; run this cell again")
    return moment
