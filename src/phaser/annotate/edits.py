"""Edits of one demonstration by their names, each with what it does in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phaser.annotate.loaded import LoadedTask
from phaser.annotate.marks import Marks
from phaser.core.errors import BadInput


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One thing that a person does to a demonstration."""

    do: str
    """A key of `EDITS`."""
    episode: int
    version: int
    seconds: float = 0.0
    step: int = 0
    to: int = 0
    phase: int = 0
    name: str = ""


def _set(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    new = marks.with_boundary(edit.step, name=edit.name or None)
    return new, f"set a boundary at frame {edit.step}"


def _delete(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    return marks.without_boundary(edit.step), f"delete the boundary at frame {edit.step}"


def _move(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    new = marks.moved(edit.step, edit.to)
    return new, f"move the boundary from frame {edit.step} to {edit.to}"


def _nudge(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    by = edit.to
    return marks.nudged(edit.step, by), f"nudge the boundary at frame {edit.step} by {by}"


def _snap(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    steps = [int(one["step"]) for one in loaded.candidates(edit.episode)]
    return marks.snapped(edit.step, steps), f"snap the boundary at frame {edit.step}"


def _rename(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    return marks.renamed(edit.phase, edit.name), f"name phase {edit.phase + 1} {edit.name!r}"


def _verify(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    return marks.verified(), "verify the phases"


def _give(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    if not marks.names:
        raise BadInput("there are no phases to give to the others yet")
    return marks, "give the phases to the others"


def _reopen(marks: Marks, edit: Edit, loaded: LoadedTask) -> tuple[Marks, str]:
    return marks.reopened(), "open the phases again"


EDITS: dict[str, Callable[[Marks, Edit, LoadedTask], tuple[Marks, str]]] = {
    "set": _set,
    "delete": _delete,
    "move": _move,
    "nudge": _nudge,
    "snap": _snap,
    "name": _rename,
    "verify": _verify,
    "give": _give,
    "reopen": _reopen,
}
