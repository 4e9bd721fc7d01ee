"""What a dataset says the robot was asked to do, and a dataset of several tasks, task by task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phaser.core.errors import BadInput
from phaser.replay.columns import Columns, cheap_column, say
from phaser.replay.demo_samples import DemoSamples
from phaser.replay.nested_datasets import datasets_inside
from phaser.replay.tensors import subset

_TASK, _TASK_INDEX = "task", "task_index"
_SHOWN = 3


def tasks_of(dataset: Any) -> dict[str, Any]:
    """The tasks of a dataset: for each instruction the dataset of its rows.

    Rows keep their order, so that each part can be given to `Replay.task` and to a loader. A
    dataset of one task comes back as it is.

    Args:
        dataset: a LeRobotDataset, a Subset or ConcatDataset of them, or any map-style dataset whose
            samples have the instruction under `task`; the last is read once, sample by sample.
    """
    asked = _per_row(dataset)
    if asked is None:
        asked = np.array([_said(dataset[row]) for row in range(len(dataset))], object)
    if not len(asked) or not all(asked):
        raise BadInput(
            f"a {type(dataset).__name__} does not say which task each row belongs to; expected a "
            "LeRobotDataset, or samples with the instruction under 'task'"
        )
    names = list(dict.fromkeys(asked.tolist()))
    if len(names) == 1:
        return {names[0]: dataset}
    return {name: subset(dataset, np.flatnonzero(asked == name).tolist()) for name in names}


def instruction_for(dataset: Any, given: Any, columns: Columns, *, as_one: bool) -> Any:
    """The words that describe a task: as given, else as the dataset says.

    A dataset of several instructions is one task only where `as_one` says so.
    """
    if given is not None and not isinstance(given, str):
        return given
    asked = _distinct(dataset, columns, needed=given is None)
    if len(asked) > 1 and not as_one:
        raise BadInput(
            f"the dataset holds {len(asked)} tasks ({_shown(asked)}); begin them one by one: for "
            "instruction, part in phaser.tasks_of(dataset).items(), or as one task: "
            "replay.task(dataset, instruction='…', as_one=True)"
        )
    if given is None and len(asked) != 1:
        raise BadInput(
            "instruction= is missing, and the dataset "
            + ("does not say what was asked" if not asked else f"says {len(asked)} things")
            + "; give replay.task(…, instruction='open the drawer')"
        )
    if given is None:
        return asked[0]
    if len(asked) == 1 and asked[0] != given:
        say(f"the dataset calls this task {asked[0][:60]!r}; it is kept as {given[:60]!r}")
    return given


def _distinct(dataset: Any, columns: Columns, *, needed: bool) -> list[str]:
    """Every instruction of a dataset, once; looked for in samples only where nobody gave one."""
    if isinstance(dataset, DemoSamples):
        return list(dict.fromkeys(demo.instruction for demo in dataset.demos if demo.instruction))
    asked = _per_row(dataset)
    if asked is not None:
        return list(dict.fromkeys(asked.tolist()))
    if not needed:
        return []
    return _in_samples(dataset, columns)


def _in_samples(dataset: Any, columns: Columns) -> list[str]:
    """The text under `task` in the first frame of every episode."""
    try:
        numbers = np.ravel(cheap_column(dataset, columns.episode))
        rows = np.unique(numbers, return_index=True)[1].tolist()
    except KeyError:
        rows = list(range(len(dataset)))
    found: dict[str, None] = {}
    for row in rows:
        said = _said(dataset[row])
        if not said:
            return []
        found[said] = None
    return list(found)


def _said(sample: Any) -> str:
    """The instruction in a sample; empty where it has none."""
    said = sample.get(_TASK) if isinstance(sample, Mapping) else None
    return said if isinstance(said, str) else ""


def _per_row(dataset: Any) -> np.ndarray | None:
    """The instruction of every row of a LeRobot dataset; None where it is no such dataset."""
    inside = datasets_inside(dataset)
    if inside:
        parts = [_per_row(one) for one in inside]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        rows = getattr(dataset, "indices", None)
        whole = np.concatenate(known)
        return whole if rows is None else whole[np.asarray(rows)]
    tasks = getattr(getattr(dataset, "meta", None), "tasks", None)
    if tasks is None:
        return None
    try:
        numbers = np.ravel(cheap_column(dataset, _TASK_INDEX)).astype(np.int64)
    except KeyError:
        return None
    return np.array(_names(tasks), object)[numbers]


def _names(tasks: Any) -> list[str]:
    """Instructions by their numbers: the index of a table (v3), or a dict by number (v2)."""
    if isinstance(tasks, Mapping):
        return [str(tasks[number]) for number in sorted(tasks)]
    return [str(name) for name in tasks.index]


def _shown(names: list[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:_SHOWN])
    return shown + (", …" if len(names) > _SHOWN else "")
