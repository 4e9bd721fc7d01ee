"""Success: main results, ablation, phase sources, task orders, single tasks, retention."""

from __future__ import annotations

from collections.abc import Sequence

from phaser.evaluation.metrics import mean
from phaser.report.exhibits.exhibit import Exhibit, Heat, Panel, Row, Value
from phaser.report.exhibits.variants import (
    Runs,
    asr_percent,
    at_one_budget,
    cell_names,
    grouped,
    methods_of,
    mostly,
    nbt_points,
    phase_source,
    usual,
    without_sweeps,
)

ABLATED = {
    "er": "er (uniform)",
    "er-routed": "er + routing",
    "er-routed-paper": "er + routing (paper)",
    "phase-only": "phases only",
    "phaser": "phaser (phases + routing)",
    "phaser-paper": "phaser (paper)",
}


def main_table(runs: Runs) -> Exhibit | None:
    """ASR and NBT of every method in every cell (the paper's main table)."""
    tried = [run for run in usual(runs) if run.metrics is not None]
    columns = cell_names(tried)
    if not columns:
        return None
    headings = tuple(f"{name}: {what}" for name in columns for what in ("ASR", "NBT"))
    rows = [
        (method, *_pair_of_each([_only(group, method) for group in columns.values()]))
        for method in methods_of(tried)
    ]
    caption = "Average success rate (higher is better) and negative backward transfer, in percent."
    return Exhibit(
        name="main-table", caption=caption, headings=("method", *headings), rows=tuple(rows)
    )


def ablation(runs: Runs) -> Exhibit | None:
    """Replay designs: what routing and phases add to uniform replay."""
    tried = [run for run in usual(runs) if run.metrics is not None and run.method in ABLATED]
    present = [name for name in ABLATED if any(run.method == name for run in tried)]
    if len(present) < 2:
        return None
    columns = cell_names(tried)
    rows = tuple(
        (ABLATED[name], *(asr_percent(_only(group, name)) for group in columns.values()))
        for name in present
    )
    return Exhibit(
        name="ablation",
        caption="Replay designs, average success rate in percent.",
        headings=("design", *columns),
        rows=rows,
    )


def phase_sources(runs: Runs) -> Exhibit | None:
    """Success of phaser by where its phases come from: human, Auto-PC, VLM."""
    known = [run for run in without_sweeps(runs) if run.method == "phaser" and run.metrics]
    routed = mostly(at_one_budget(known), lambda run: run.order)
    sources = grouped(routed, phase_source)
    if len(sources) < 2:
        return None
    presets = dict.fromkeys(run.preset for run in routed)
    rows = tuple(
        (source, *(asr_percent([one for one in group if one.preset == name]) for name in presets))
        for source, group in sources.items()
    )
    return Exhibit(
        name="phase-sources",
        caption="Average success rate in percent, by the source of the phases.",
        headings=("phases", *presets),
        rows=rows,
    )


def task_orders(runs: Runs) -> Exhibit | None:
    """Success by the order of the tasks, and what phaser adds to er in each."""
    known = [run for run in without_sweeps(runs) if run.metrics and not run.matrix.is_joint]
    tried = mostly(at_one_budget(known), phase_source)
    orders = grouped(tried, lambda run: f"{run.preset}, {run.order}")
    if len({run.order for run in tried}) < 2:
        return None
    rows: list[Row] = [
        (method, *(asr_percent(_only(group, method)) for group in orders.values()))
        for method in methods_of(tried)
    ]
    named = {row[0]: row for row in rows}
    if "er" in named and "phaser" in named:
        pairs = zip(named["phaser"][1:], named["er"][1:], strict=True)
        rows.append(("phaser − er", *(_minus(one, other) for one, other in pairs)))
    return Exhibit(
        name="task-orders",
        caption="Average success rate in percent, by the order in which tasks are learnt.",
        headings=("method", *orders),
        rows=tuple(rows),
    )


def per_task(runs: Runs) -> Exhibit | None:
    """Final success of every task, and phaser against the better one of er and mir."""
    tried = _alike([run for run in usual(runs) if run.metrics is not None])
    if not tried:
        return None
    methods = methods_of(tried)
    rows: list[Row] = []
    for task in tried[0].tasks:
        found = {name: _final(_only(tried, name), task) for name in methods}
        rivals = [found[name] for name in ("er", "mir") if found.get(name) is not None]
        gain = _minus(found.get("phaser"), max(rivals, default=None))  # type: ignore[type-var]
        rows.append((task, _num_phases(tried, task), *found.values(), gain))
    means: list[Value] = [asr_percent(_only(tried, name)) for name in methods]
    rows.append(("mean", None, *means, None))
    return Exhibit(
        name="per-task",
        caption="Success after the last task in percent; the gain is phaser minus the better one "
        "of er and mir.",
        headings=("task", "phases", *methods, "gain"),
        rows=tuple(rows),
    )


def retention(runs: Runs) -> Exhibit | None:
    """Retention matrices: success on every task after every stage, a panel per method."""
    ordered = [run for run in usual(runs) if run.metrics is not None and not run.matrix.is_joint]
    tried = _alike(ordered)
    if not tried:
        return None
    tasks = tried[0].tasks
    rows: list[Row] = []
    panels = []
    for method in methods_of(tried):
        group = [run for run in tried if run.method == method and run.tasks == tasks]
        values = [[_rate(group, after, task) for task in tasks] for after in tasks]
        panels.append(Panel(title=method, heat=Heat(rows=tasks, columns=tasks, values=values)))
        rows += [(method, after, *line) for after, line in zip(tasks, values, strict=True)]
    return Exhibit(
        name="retention",
        caption="Success in percent on each task (columns) after learning each task (rows).",
        headings=("method", "after", *tasks),
        rows=tuple(rows),
        panels=tuple(panels),
    )


def _only(runs: Runs, method: str) -> Runs:
    return [run for run in runs if run.method == method]


def _alike(runs: Runs) -> Runs:
    """The runs of the preset, budget and tasks that most have; methods without memory always."""
    if not runs:
        return []
    keys = grouped(
        [run for run in runs if run.budget] or runs,
        lambda run: (run.preset, run.budget, frozenset(run.tasks)),
    )
    preset, budget, tasks = max(keys, key=lambda key: len(keys[key]))
    return [
        run
        for run in runs
        if (run.preset, frozenset(run.tasks)) == (preset, tasks) and run.budget in (budget, None)
    ]


def _pair_of_each(groups: Sequence[Runs]) -> list[Value]:
    return [value for group in groups for value in (asr_percent(group), nbt_points(group))]


def _minus(first: Value, second: Value) -> float | None:
    known = isinstance(first, float) and isinstance(second, float)
    return first - second if known else None  # type: ignore[operator]


def _final(runs: Runs, task: str) -> float | None:
    rates = [run.matrix.final(task).rate for run in runs if task in run.tasks]
    return 100 * mean(rates) if rates else None


def _num_phases(runs: Runs, task: str) -> int | None:
    counts = [sum(one.task == task for one in run.phases) for run in runs]
    return max(counts) or None


def _rate(runs: Runs, after: str, task: str) -> float | None:
    rates = [run.matrix.cell(after, task).rate for run in runs if run.matrix.has(after, task)]
    return 100 * mean(rates) if rates else None
