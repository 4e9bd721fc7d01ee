"""Where the cells of a folder stand, read from their files alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json
from phaser.experiments.event_log import EVENTS, Logged, read_events
from phaser.experiments.events import Failed, Finished, Measured, RolledOut, Stepped
from phaser.experiments.finished import DONE

SILENT_S = 120.0
"""A cell without a word for so long is called silent: stopped, or in a long step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """One cell as its folder shows it."""

    name: str
    state: str
    """finished, failed, running, silent or begun."""
    tasks_learnt: int
    num_tasks: int
    task: str
    """What is being learnt or measured."""
    doing: str
    """Step or rollout within the task."""
    loss: float | None
    solved: int
    """Rollouts solved after the last measured task, of those tried."""
    tried: int
    quiet_s: float | None
    """Seconds since the last event."""
    message: str = ""
    """Why it failed."""


def cell_folders(place: Path) -> list[Path]:
    """Folders with a run, at or below a place."""
    found = sorted(path.parent for path in place.rglob("run.json"))
    if not found:
        raise BadInput(f"{place} holds no run; expected a folder with run.json in it")
    return found


def standing(folder: Path, *, now_s: float | None = None) -> Standing:
    """Where a cell stands."""
    about = read_json(folder / "run.json")
    if not isinstance(about, dict) or not isinstance(about.get("tasks"), list):
        raise BrokenFile(f"{folder / 'run.json'} does not describe a run; restore it")
    tasks = [str(task) for task in about["tasks"]]
    logged, _ = read_events(folder / EVENTS)
    measured = [one.event for one in logged if isinstance(one.event, Measured)]
    counts = list(measured[-1].counts.values()) if measured else []
    learnt = _learnt(measured, tasks)
    quiet = None if not logged else max(0.0, (now_s or time.time()) - logged[-1].time_s)
    done = (folder / DONE).exists()
    last = logged[-1].event if logged else None
    return Standing(
        name=folder.name,
        state=_state(done, last, quiet),
        tasks_learnt=len(tasks) if done else learnt,
        num_tasks=len(tasks),
        task="" if done or learnt >= len(tasks) else tasks[learnt],
        doing="" if done else _doing(logged),
        loss=next((e.loss for e in _backwards(logged) if isinstance(e, Stepped)), None),
        solved=sum(solved for solved, _ in counts),
        tried=sum(tried for _, tried in counts),
        quiet_s=quiet,
        message=last.message if isinstance(last, Failed) and not done else "",
    )


def _learnt(measured: Sequence[Measured], tasks: Sequence[str]) -> int:
    if not measured:
        return 0
    return len(tasks) if measured[-1].task not in tasks else measured[-1].index + 1


def _state(done: bool, last: object, quiet_s: float | None) -> str:
    if done or isinstance(last, Finished):
        return "finished"
    if isinstance(last, Failed):
        return "failed"
    if quiet_s is None:
        return "begun"
    return "running" if quiet_s < SILENT_S else "silent"


def _doing(logged: Sequence[Logged]) -> str:
    for event in _backwards(logged):
        if isinstance(event, Stepped):
            return f"step {event.step}/{event.steps}"
        if isinstance(event, RolledOut):
            return f"rollout {event.episodes}/{event.planned}"
        if isinstance(event, Measured):
            return "reading"
    return "reading"


def _backwards(logged: Sequence[Logged]) -> list[object]:
    return [one.event for one in reversed(logged)]
