"""Finished cells: whether a folder holds one, and whether their memories can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phaser.core.files import read_json
from phaser.experiments.compatibility import require_same_settings
from phaser.experiments.run import Run
from phaser.memory.budget import Budget
from phaser.memory.certificate import check_equal, check_total, check_within

DONE = "done.json"
"""Written last: its presence means that a cell is complete."""


def is_finished(run: Run, folder: Path) -> bool:
    """Whether the folder holds this run, complete; one of other settings is refused, not reused."""
    require_same_settings(folder, run)
    return (folder / DONE).exists()


def check_budgets(folders: Sequence[Path], *, tolerance: float = 0.01) -> None:
    """Refuse cells that hold another number of frames than they were given, or than their rivals.

    Cells that were given bytes may hold at most those; cells that were given none are left out.
    """
    groups: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    for folder in folders:
        about = read_json(folder / "run.json")
        if about["budget"] is None:
            continue
        budget, held = Budget(**about["budget"]), read_json(folder / "budget.json")
        if budget.is_total:
            check_total({folder.name: held}, budget.amount, budget.unit)
        elif budget.unit == "bytes":
            check_within({folder.name: held}, budget.amount, about["tasks"])
        else:
            group = groups.setdefault((str(budget), about["seed"]), {})
            if budget.per == "task":
                given = {"frames_per_task": dict.fromkeys(about["tasks"], budget.amount)}
                group["the given budget"] = given
            group[folder.name] = held
    for group in groups.values():
        check_equal(group, tolerance)
