"""Where a number came from: the commit, and the command that repeats it."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from phaser.core.suite import DERIVED
from phaser.experiments.presets import PRESETS
from phaser.experiments.run import Run, settings_of
from phaser.experiments.settings_files import KIND
from phaser.memory.budget import Budget
from phaser.methods.table import METHODS

BUDGET_FLAGS = {
    ("frames", "task"): "--budget",
    ("frames", "phase"): "--budget-per-phase",
    ("bytes", "task"): "--budget-bytes",
    ("frames", "memory"): "--budget-total",
    ("bytes", "memory"): "--budget-total-bytes",
}
"""The flag that gives a budget, by its unit and by what it holds for."""


def commit() -> str:
    """The commit of a source checkout, with "+changes" where files differ from it."""
    source = Path(__file__).parent
    head = _git(source, "rev-parse", "HEAD")
    if not head:
        return "not a git checkout"
    return head + ("+changes" if _git(source, "status", "--porcelain", "--", ".") else "")


def command_of(run: Run) -> str:
    """The command that repeats this run: preset, method, and every setting that differs."""
    name = run.method.name
    words = ["phaser", "run", run.preset, "--method", name, "--seed", str(run.seed)]
    if run.budget is not None:
        words += [BUDGET_FLAGS[run.budget.unit, run.budget.per], str(run.budget.amount)]
    if run.preset not in PRESETS or name not in METHODS or run.phases:
        return shlex.join([*words, "--from", "run.json"])
    start = PRESETS[run.preset].make().with_seed(run.seed).with_method(METHODS[name])
    if run.budget is not None:
        # The floor has no flag of that group, so it counts as a setting that differs.
        start = start.with_budget(replace(run.budget, floor=Budget().floor))
    before, after = leaves(_asked(start)), leaves(_asked(run))
    changed = {path: after[path] for path in after if before.get(path, ...) != after[path]}
    if any(path.rpartition(".")[2] == KIND for path in changed):
        return shlex.join([*words, "--from", "run.json"])
    return shlex.join([*words, *(word for one in changed.items() for word in _flag(*one))])


def _asked(run: Run) -> dict[str, Any]:
    """The settings without what the suite found out by itself, which no flag can say."""
    settings = settings_of(replace(run, label=""))
    for one in fields(run.suite):  # type: ignore[arg-type]
        if DERIVED.items() <= one.metadata.items():
            settings["suite"].pop(one.name)
    return settings


def leaves(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their paths, such as `fit.steps_per_task`."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        inner = isinstance(value, Mapping)
        found |= leaves(value, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
    return found


def _flag(path: str, value: Any) -> list[str]:
    """One setting as the command line spells it."""
    branch, _, leaf = path.replace("_", "-").rpartition(".")
    if isinstance(value, bool):
        return [f"--{branch}.{leaf if value else f'no-{leaf}'}"]
    values = value if isinstance(value, list | tuple) else [value]
    return [f"--{branch}.{leaf}", *map(str, values)]


def _git(folder: Path, *arguments: str) -> str:
    try:
        finished = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return finished.stdout.strip() if finished.returncode == 0 else ""
