"""Tasks of many runs that are not recorded yet, each once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from phaser.core.demonstration import Task
from phaser.core.suite import Suite
from phaser.experiments.run import Run


def unrecorded(cells: Sequence[Run], learnt: Collection[str] = ()) -> list[tuple[Run, list[Task]]]:
    """Tasks of all cells that are not recorded yet, each once, with a run that has them.

    Orders and streams choose among recordings and do not change them.

    learnt: tasks that nobody needs any more.
    """
    found: dict[Suite, tuple[Run, dict[str, Task]]] = {}
    for cell in cells:
        suite = cell.suite.for_seed(0).in_order("default")
        _, tasks = found.setdefault(suite, (cell, {}))
        for task in cell.suite.missing():
            if task.name not in learnt:
                tasks.setdefault(task.name, task)
    return [(run, list(tasks.values())) for run, tasks in found.values() if tasks]
