"""The events of a cell: what it tells whoever watches it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from phaser.core.errors import PhaserError


@dataclass(frozen=True, kw_only=True, slots=True)
class Preparing:
    """The demonstrations of a task are being read, encoded and cut."""

    task: str
    doing: str = "reading"
    share: float | None = None
    """How much of it is done, where that is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """The demonstrations of a task are read, encoded and cut."""

    task: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Doing:
    """Work begins that has no event of its own, such as starting simulators."""

    what: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Stepped:
    """Some training steps of a task are done."""

    step: int
    steps: int
    loss: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RolledOut:
    """A rollout has ended, as one of those that follow a task."""

    task: str
    success: bool
    episodes: int
    """Rollouts done so far after this task."""
    planned: int
    episodes_per_s: float
    seconds_left: float | None
    shares: Mapping[str, float]
    """Shares of the time that physics, rendering and the policy took."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A task is learnt, kept and measured."""

    task: str
    index: int
    loss: float
    counts: Mapping[str, tuple[int, int]]
    """Solved and tried rollouts by task; empty where there is no simulator."""
    heldout: Mapping[str, float] = field(default_factory=dict)
    """Held-out loss by task, the mean over its phases; tasks whose demonstrations are gone lack."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """The cell is complete."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """The cell ended with an error; the traceback is empty for what a user can mend."""

    message: str
    traceback: str = ""


Event = Preparing | Prepared | Doing | Stepped | RolledOut | Measured | Finished | Failed
Notify = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Nobody watches."""


def telling(notify: Notify, task: str) -> Callable[[str, float | None], None]:
    """Tells whoever watches what is being done to prepare a task, and how much of it is done."""

    def told(doing: str, share: float | None) -> None:
        notify(Preparing(task=task, doing=doing, share=share))

    return told


def failure_of(error: Exception) -> Failed:
    """What a cell's error means for its user: a line to act on, or a bug with its traceback."""
    if isinstance(error, PhaserError):
        return Failed(message=str(error))
    lines = "".join(traceback.format_exception(error))
    return Failed(message=f"{type(error).__name__}: {error}", traceback=lines)
