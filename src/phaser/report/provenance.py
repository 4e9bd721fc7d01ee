"""Where the numbers come from: budgets held, versions, settings that differ, commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from phaser.memory.budget import Budget
from phaser.report.runs import RunResult
from phaser.report.svg import element, scrolling


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, strong: Sequence[str] = ()
) -> str:
    """An HTML table of plain texts; rows whose first cell is in `strong` stand out."""
    head = "".join(element("th", escape(name), scope="col") for name in headings)
    body = "".join(
        element(
            "tr",
            "".join(element("td", escape(cell)) for cell in row),
            class_="strong" if row[0] in strong else "plain",
        )
        for row in rows
    )
    inner = element("thead", element("tr", head)) + element("tbody", body)
    return scrolling(element("table", inner), f"Table: {', '.join(headings[:3])}")


def budget_statement(groups: Mapping[str, Sequence[RunResult]]) -> str:
    """Says in words that the budgets are equal; unequal ones never get this far."""
    replaying = [run for runs in groups.values() for run in runs if run.budget is not None]
    if not replaying:
        return "No method keeps a memory."
    budget = replaying[0].budget
    if budget is not None and budget.unit == "bytes":
        return _bytes_statement(replaying, budget)
    held = [run.certificate for run in replaying]
    shares = sorted({frames for one in held for frames in one.frames_per_task.values()})
    totals = sorted({one.total_frames for one in held})
    apart = 100 * (totals[-1] - totals[0]) / max(totals[-1], 1)
    each = " or ".join(str(share) for share in shares)
    names = ", ".join(dict.fromkeys(run.method for run in replaying))
    short = "" if budget is None or shares in ([budget.amount], []) else f" Asked for: {budget}."
    return (
        f"Equal{f' to within {apart:.2g} %' if apart else ''}: {names} each hold {each} frames "
        f"per task, {' to '.join(map(str, totals))} frames in total, in all {len(replaying)} runs, "
        f"counted from the memory after the last task.{short}"
    )


def _bytes_statement(replaying: Sequence[RunResult], budget: Budget) -> str:
    frames = [n for run in replaying for n in run.certificate.frames_per_task.values()]
    sizes = [n for run in replaying for n in run.certificate.bytes_per_task.values()]
    names = ", ".join(dict.fromkeys(run.method for run in replaying))
    return (
        f"Equal in encoded bytes: {names} each hold as many frames as fit into {budget.amount:,} "
        f"bytes {'in total' if budget.is_total else 'per task'}. The tasks of the "
        f"{len(replaying)} runs hold {min(sizes):,} to {max(sizes):,} bytes, {min(frames)} to "
        f"{max(frames)} frames, counted from the memory after the last task."
    )


def budget_rows(
    groups: Mapping[str, Sequence[RunResult]],
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and rows: frames per task, in brackets per phase, of each method's first seed.

    Where seeds have streams of their own, a method without the first stream has no numbers.
    """
    tasks = next(iter(groups.values()))[0].tasks
    first = [
        next((run for run in runs if set(run.tasks) == set(tasks)), None)
        for runs in groups.values()
    ]
    rows = [(task, *("–" if run is None else _share(run, task) for run in first)) for task in tasks]
    totals = ("–" if run is None else _total(run) for run in first)
    return ("task", *groups), [*rows, ("total", *totals)]


def version_rows(runs: Sequence[RunResult]) -> list[tuple[str, ...]]:
    """Name and version; several versions of one thing are all shown."""
    found: dict[str, set[str]] = {"commit": {run.commit for run in runs}}
    for run in runs:
        for name, version in run.versions.items():
            found.setdefault(name, set()).add(str(version))
    return [(name, ", ".join(sorted(versions))) for name, versions in found.items()]


def differing_settings(runs: Sequence[RunResult]) -> list[tuple[str, ...]]:
    """Settings that are not the same in all runs, beside the methods that have each value."""
    flat = [(run, _flatten(run.settings)) for run in runs]
    names = sorted({name for _, settings in flat for name in settings})
    rows: list[tuple[str, ...]] = []
    for name in names:
        holders: dict[str, list[str]] = {}
        for run, settings in flat:
            holders.setdefault(str(settings.get(name, "–")), []).append(run.method)
        if len(holders) > 1:
            values = (f"{value} ({', '.join(dict.fromkeys(m))})" for value, m in holders.items())
            rows.append((name, "; ".join(values)))
    return rows


def commands(runs: Sequence[RunResult]) -> tuple[str, ...]:
    """The distinct commands that repeat the runs."""
    return tuple(dict.fromkeys(run.command for run in runs))


def _share(run: RunResult, task: str) -> str:
    frames = run.certificate.frames_per_task.get(task, 0)
    phases = [str(phase.frames) for phase in run.certificate.phases_of(task)]
    shares = f"{frames} ({'+'.join(phases)})" if len(phases) > 1 else str(frames)
    return shares + _bytes(run, run.certificate.bytes_per_task.get(task, 0))


def _total(run: RunResult) -> str:
    held = run.certificate
    return f"{held.total_frames}{_bytes(run, sum(held.bytes_per_task.values()))}"


def _bytes(run: RunResult, held: int) -> str:
    in_bytes = run.budget is not None and run.budget.unit == "bytes"
    return f", {held:,} bytes" if in_bytes else ""


def _flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
