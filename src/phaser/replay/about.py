"""What a memory says of how it was filled: for people, and for whoever compares two memories."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from phaser import __version__
from phaser.core.demonstration import Task
from phaser.core.errors import BadInput
from phaser.core.ports import Segmenter
from phaser.memory.budget import Budget
from phaser.memory.codecs import ImageCodec
from phaser.memory.stored_task import MAX_NAME, MAX_TEXT, check_texts
from phaser.methods.method import Method
from phaser.replay.nested_datasets import innermost

VECTORS = ("action", "observation.state")
"""Columns of a LeRobot dataset whose numbers have names."""


def slug(instruction: str) -> str:
    """A task's name from its instruction: "Open the drawer" gives open-the-drawer."""
    name = re.sub(r"\W+", "-", instruction.lower()).strip("-_")
    if not name:
        raise BadInput(f"no name can be made of the instruction {instruction!r}; give name=")
    return name


def named_task(instruction: str, name: str | None) -> Task:
    """The task that a user describes, if a memory can hold its texts."""
    for what, text in (("instruction", instruction), ("name", name)):
        if not isinstance(text, str) and not (what == "name" and text is None):
            raise BadInput(f"{what}={text!r} is of type {type(text).__name__}; expected text")
    task = Task(name=name or slug(instruction[:MAX_NAME]), instruction=instruction)
    check_texts(task.name, task.instruction, {})
    return task


def about_memory(method: Method, *, seed: int) -> dict[str, Any]:
    """What holds for all tasks of a memory."""
    return {
        "phaser": __version__,
        "method": method.name,
        "settings": {
            part: {"kind": type(rule).__name__, **_fields(rule)}
            for part, rule in (("keep", method.keep), ("draw", method.draw))
        },
        "seed": seed,
    }


def source_of(
    samples: Any,
    *,
    method: Method,
    budget: Budget,
    codec: ImageCodec,
    seed: int,
    phases: Segmenter | Path | str | None,
) -> dict[str, str]:
    """What may differ from one task of a memory to the next."""
    return {
        "dataset": _dataset_name(samples),
        "method": method.name,
        "budget": str(budget),
        "codec": str(codec),
        "seed": str(seed),
        "phases": _described(phases),
        **_robot(samples),
    }


def _robot(samples: Any) -> dict[str, str]:
    """Robot, rate and names of a LeRobot dataset, which an export of the memory carries on."""
    meta = getattr(next(innermost(samples)), "meta", None)
    features, robot, fps = (getattr(meta, name, None) for name in ("features", "robot_type", "fps"))
    if not isinstance(features, Mapping) or fps is None:
        return {}
    names = {name: _flat(features[name].get("names")) for name in VECTORS if name in features}
    text = json.dumps({name: found for name, found in names.items() if found})
    found = {"robot_type": str(robot or "unknown")[:MAX_TEXT], "fps": f"{fps:g}"}
    return found | ({"names": text} if len(text) <= MAX_TEXT else {})


def _flat(names: Any) -> list[str]:
    """Names as one list; older datasets wrap it: {"motors": […]}."""
    if isinstance(names, Mapping) and len(names) == 1:
        names = next(iter(names.values()))
    return [str(name) for name in names] if isinstance(names, list | tuple) else []


def _dataset_name(samples: Any) -> str:
    names = [str(getattr(one, "repo_id", None) or type(one).__name__) for one in innermost(samples)]
    return ", ".join(dict.fromkeys(names))[:MAX_TEXT]


def _fields(rule: Any) -> dict[str, Any]:
    """The settings of a rule, if it is a dataclass, as JSON can hold them."""
    if not is_dataclass(rule) or isinstance(rule, type):
        return {}
    return asdict(rule)


def _described(phases: Segmenter | Path | str | None) -> str:
    if phases is None:
        return "AutoPC"
    return Path(phases).name if isinstance(phases, Path | str) else type(phases).__name__
