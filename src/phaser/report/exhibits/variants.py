"""What runs differ in beside method and seed, and averages over the seeds that do not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from phaser.evaluation.comparison import Estimate, estimate_asr
from phaser.evaluation.metrics import mean_of_known
from phaser.report.runs import METHOD_ORDER, RunResult

Key = TypeVar("Key", bound=Hashable)
Runs = Sequence[RunResult]

SWEPT = {"α": "language_share", "γ": "redundancy_penalty", "τ": "temperature"}
"""Settings of routing by their symbols in the paper."""


def setting(run: RunResult, *path: str) -> Any:
    """A setting of a run by its path; none where it has no such setting."""
    found: Any = run.settings
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def phase_source(run: RunResult) -> str:
    """Where a run's phases come from: the annotation that its command names, else the segmenter."""
    if setting(run, "phases"):
        named = re.search(r"--phases[ =](\S+)", run.command)
        return Path(named[1].strip("'\"")).stem if named else "given by hand"
    kind = setting(run, "method", "segmenter", "kind")
    return "Auto-PC" if kind in (None, "AutoPC") else str(kind)


def swept(run: RunResult, symbol: str) -> float | None:
    """The value of a setting of routing; none for a method that does not route."""
    value = setting(run, "method", "draw", SWEPT[symbol])
    return float(value) if isinstance(value, int | float) else None


def variant(run: RunResult) -> tuple[Hashable, ...]:
    """What the paper varies: order, source of phases, settings of routing."""
    return (run.order, phase_source(run), *(swept(run, symbol) for symbol in SWEPT))


def plain(run: RunResult) -> str:
    """The method's name in the table, without the mark of changed settings ("phaser~1a2b")."""
    return run.method.partition("~")[0]


def without_sweeps(runs: Runs) -> list[RunResult]:
    """All but the points of a sweep: a method's runs whose routing is set otherwise than usual."""
    known = {(run.preset, run.method): _routing(run) for run in runs}
    return [
        run
        for run in runs
        if known.get((run.preset, plain(run)), _routing(run)) == _routing(run)
        or plain(run) == run.method
    ]


def mostly(runs: Runs, key: Callable[[RunResult], Hashable]) -> list[RunResult]:
    """The runs whose value is the most frequent one; the first of them where several are."""
    counts = Counter(map(key, runs))
    return [run for run in runs if key(run) == counts.most_common(1)[0][0]]


def at_one_budget(runs: Runs) -> list[RunResult]:
    """The runs of the budget that most runs of their preset have; methods without one always."""
    kept: list[RunResult] = []
    for group in grouped(runs, lambda run: run.preset).values():
        counts = Counter(run.budget for run in group if run.budget is not None)
        most = counts.most_common(1)[0][0] if counts else None
        kept += [run for run in group if run.budget in (most, None)]
    return kept


def _routing(run: RunResult) -> tuple[float | None, ...]:
    return tuple(swept(run, symbol) for symbol in SWEPT)


def usual(runs: Runs) -> list[RunResult]:
    """The runs of each method in its most frequent variant; the first one where several are."""
    groups = grouped(without_sweeps(runs), lambda run: (run.preset, run.method, run.budget))
    kept = []
    for group in groups.values():
        chosen = Counter(map(variant, group)).most_common(1)[0][0]
        seen: set[int] = set()
        for run in group:
            if variant(run) == chosen and run.seed not in seen:
                seen.add(run.seed)
                kept.append(run)
    return kept


def grouped(runs: Runs, key: Callable[[RunResult], Key]) -> dict[Key, list[RunResult]]:
    """Runs by a key, in the order in which keys appear."""
    groups: dict[Key, list[RunResult]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def asr(runs: Runs) -> Estimate | None:
    """Average success over seeds; none where nothing was rolled out."""
    known = {run.seed: run.matrix for run in runs if run.metrics is not None}
    return estimate_asr(known) if known else None


def asr_percent(runs: Runs) -> float | None:
    found = asr(runs)
    return None if found is None else 100 * found.mean


def nbt_points(runs: Runs) -> float | None:
    found = mean_of_known([run.metrics.negative_backward_transfer for run in runs if run.metrics])
    return None if found is None else 100 * found


def cell_names(runs: Runs) -> dict[str, list[RunResult]]:
    """Runs by the column of a table they belong to: preset, and budget where several are given."""
    several = grouped([run for run in runs if run.budget], lambda run: run.preset)
    many = {name for name, group in several.items() if len({run.budget for run in group}) > 1}
    columns: dict[str, list[RunResult]] = {}
    for run in runs:
        if run.preset not in many:
            columns.setdefault(run.preset, []).append(run)
        elif run.budget is not None:
            columns.setdefault(f"{run.preset}, {run.budget}", []).append(run)
    for name in columns:
        # A method without a memory is the same at every budget.
        columns[name] += [
            run for run in runs if run.budget is None and name.startswith(f"{run.preset}, ")
        ]
    return columns


def methods_of(runs: Runs) -> list[str]:
    """Names of methods in the order of a report."""
    names = dict.fromkeys(run.method for run in runs)
    known = [name for name in METHOD_ORDER if name in names]
    return [*known, *(name for name in names if name not in known)]
