"""What memory and settings buy: capacity, overhead against success, sweeps of α, γ and τ."""

from __future__ import annotations

from phaser.evaluation.comparison import Estimate
from phaser.report.exhibits.exhibit import Exhibit, Panel, Row, Series
from phaser.report.exhibits.variants import (
    SWEPT,
    Runs,
    asr,
    asr_percent,
    at_one_budget,
    grouped,
    methods_of,
    phase_source,
    plain,
    swept,
    usual,
)
from phaser.report.overhead import overhead_rows

Ends = tuple[float, float, float]


def capacity(runs: Runs) -> Exhibit | None:
    """Success against the budget, a line per method (mixed budgets are the axis)."""
    given = [run for run in usual(runs) if run.budget is not None and run.metrics is not None]
    kinds = grouped(given, lambda run: str(run.budget).split(" ", 1)[1])
    shown = max(kinds.values(), key=lambda group: len({run.budget for run in group}), default=[])
    if len({run.budget for run in shown}) < 2:
        return None
    rows: list[Row] = []
    series = []
    for method in methods_of(shown):
        points: list[tuple[float, Ends]] = []
        for budget, group in grouped(
            [run for run in shown if run.method == method], lambda run: run.budget
        ).items():
            found = asr(group)
            if budget is not None and found is not None:
                points.append((float(budget.amount), _ends(found)))
                rows.append((method, budget.amount, *points[-1][1], found.num_seeds))
        points.sort()
        series.append(_series(method, points))
    unit = str(shown[0].budget).split(" ", 1)[1]
    return Exhibit(
        name="capacity",
        caption=f"Average success rate in percent against the budget in {unit}, with 95 % "
        "intervals.",
        headings=("method", unit, "ASR", "low", "high", "seeds"),
        rows=tuple(rows),
        panels=(Panel(x=unit, y="ASR, %", series=tuple(series), logarithmic=True),),
    )


def overhead(runs: Runs) -> Exhibit | None:
    """What each method costs beyond er, against what it keeps."""
    tried = at_one_budget([run for run in usual(runs) if run.metrics])
    groups = grouped(tried, lambda run: run.method)
    found = [row for row in overhead_rows(groups) if row.step_ms is not None]
    if not found:
        return None
    rows: list[Row] = []
    series = []
    for row in found:
        kept = asr_percent(groups[row.method])
        measured = "side by side" if row.side_by_side else "not side by side"
        extra = None if row.step_ratio is None else 100 * (row.step_ratio - 1)
        rows.append(
            (
                row.method,
                row.step_ms,
                extra,
                row.transition_ms,
                int(row.memory_bytes),
                kept,
                measured,
            )
        )
        if extra is not None and kept is not None:
            hollow = not row.side_by_side
            series.append(
                Series(label=row.method, xs=[extra], ys=[kept], kind="points", hollow=hollow)
            )
    apart = any(one.hollow for one in series)
    unit = "time of a step over er, %" + (" (hollow: not side by side)" if apart else "")
    return Exhibit(
        name="overhead",
        caption="Processor time of a step and of a transition, and average success rate. Times "
        "that were not measured side by side include what else the machine did.",
        headings=(
            *("method", "ms/step", "% over er", "ms/transition", "memory bytes"),
            *("ASR", "measured"),
        ),
        rows=tuple(rows),
        panels=(Panel(x=unit, y="ASR, %", series=tuple(series)),),
    )


def sweeps(runs: Runs) -> Exhibit | None:
    """Success by α, γ and τ, each with the other two as most runs have them."""
    routed = [run for run in runs if run.method.startswith("phaser") and run.metrics is not None]
    rows: list[Row] = []
    panels = []
    for symbol in SWEPT:
        found = _swept(routed, symbol)
        if len(found) < 2:
            continue
        points = [(value, _ends(one)) for value, one in found.items()]
        rows += [(symbol, value, *_ends(one), one.num_seeds) for value, one in found.items()]
        panels.append(Panel(x=symbol, y="ASR, %", series=(_series("phaser", points),)))
    if not rows:
        return None
    return Exhibit(
        name="sweeps",
        caption="Average success rate in percent by α (language against vision), γ (redundancy) "
        "and τ (temperature), with 95 % intervals.",
        headings=("setting", "value", "ASR", "low", "high", "seeds"),
        rows=tuple(rows),
        panels=tuple(panels),
    )


def _swept(runs: Runs, symbol: str) -> dict[float, Estimate]:
    """Success by the value of one setting, where everything else is as most runs have it."""
    others = grouped(
        runs,
        lambda run: (
            run.preset,
            plain(run),
            run.budget,
            run.order,
            phase_source(run),
            *(swept(run, other) for other in SWEPT if other != symbol),
        ),
    )
    if not others:
        return {}
    values = {key: grouped(group, lambda run: swept(run, symbol)) for key, group in others.items()}
    widest = max(values.values(), key=len)
    found = {value: asr(group) for value, group in widest.items() if value is not None}
    return {value: one for value, one in sorted(found.items()) if one is not None}


def _ends(found: Estimate) -> Ends:
    return 100 * found.mean, 100 * found.interval.lower, 100 * found.interval.upper


def _series(label: str, points: list[tuple[float, Ends]]) -> Series:
    means, low, high = ([ends[place] for _, ends in points] for place in range(3))
    return Series(label=label, xs=[x for x, _ in points], ys=means, low=low, high=high)
