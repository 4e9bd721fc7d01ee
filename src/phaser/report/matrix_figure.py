"""Retention matrices side by side: what is left of each task after each stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from phaser.report.runs import RunResult
from phaser.report.svg import (
    SUCCESS_SCALE,
    colour,
    css,
    drawing,
    element,
    hover,
    ink_on,
    label,
    rect,
    shorten,
)

CELL = 23
MARGIN_LEFT = 118
MARGIN_TOP = 20

Pooled = dict[tuple[int, int], tuple[int, int]]
"""(successes, episodes) by (after position, task position), over seeds."""


def retention_matrices(groups: Mapping[str, Sequence[RunResult]]) -> str:
    """One matrix per method; columns are tasks, rows are stages, time runs downwards."""
    orders = {run.tasks for runs in groups.values() for run in runs if not run.matrix.is_joint}
    names = next(iter(orders), next(iter(groups.values()))[0].tasks)
    if len(orders) > 1:
        names = ("after task",) * len(names)
    figures = [
        element("figure", element("figcaption", label_of(method, runs)) + _matrix(runs, names))
        for method, runs in groups.items()
        if not runs[0].matrix.is_joint
    ]
    pattern = element("svg", _hatching(), width=0, height=0, class_="patterns", aria_hidden="true")
    return pattern + element("div", "".join(figures), class_="side-by-side")


def label_of(method: str, runs: Sequence[RunResult]) -> str:
    """A caption: the method and how many seeds it has."""
    seeds = "1 seed" if len(runs) == 1 else f"{len(runs)} seeds"
    return element("strong", escape(method)) + f" · {seeds}"


def _matrix(runs: Sequence[RunResult], names: Sequence[str]) -> str:
    pooled = _pool(runs)
    size = len(names)
    parts = []
    for index, name in enumerate(names):
        x = MARGIN_LEFT + (index + 0.5) * CELL
        number = str(index + 1)
        parts.append(label(x, MARGIN_TOP - 6, number, text_anchor="middle", class_="tick"))
        y = MARGIN_TOP + index * CELL + CELL / 2 + 4
        stage = f"{shorten(name, 16)} {number}"
        parts.append(label(MARGIN_LEFT - 7, y, stage, text_anchor="end", class_="tick"))
    for after in range(size):
        for task in range(after + 1):
            tip = (
                f"task {task + 1} ({names[task]}) after learning task {after + 1} ({names[after]})"
            )
            parts.append(_cell(after, task, pooled.get((after, task)), tip))
    width, height = MARGIN_LEFT + size * CELL + 2, MARGIN_TOP + size * CELL + 6
    title = f"Success per task after each stage, {runs[0].method}"
    return drawing(parts, width=width, height=height, title=title)


def _cell(after: int, task: int, counts: tuple[int, int] | None, tip: str) -> str:
    x, y = MARGIN_LEFT + task * CELL, MARGIN_TOP + after * CELL
    box = (x + 1, y + 1, CELL - 2, CELL - 2)
    if counts is None:
        return hover(
            rect(*box, rx=3, fill="url(#unmeasured)", class_="blank"), f"{tip}: no episodes"
        )
    rate = counts[0] / counts[1]
    shade = colour(rate, SUCCESS_SCALE)
    number = label(
        x + CELL / 2,
        y + CELL / 2 + 4,
        f"{100 * rate:.0f}",
        text_anchor="middle",
        fill=ink_on(shade),
        class_="cell",
    )
    return hover(
        rect(*box, rx=3, fill=css(shade)) + number, f"{tip}: {counts[0]} of {counts[1]} episodes"
    )


def _pool(runs: Sequence[RunResult]) -> Pooled:
    pooled: Pooled = {}
    for run in runs:
        for (after, task), cell in run.matrix.cells.items():
            key = (run.tasks.index(after), run.tasks.index(task))
            successes, trials = pooled.get(key, (0, 0))
            pooled[key] = (successes + cell.successes, trials + cell.trials)
    return pooled


def _hatching() -> str:
    line = element("path", d="M0 6 L6 0", class_="hatch")
    pattern = element(
        "pattern", line, id="unmeasured", width=6, height=6, patternUnits="userSpaceOnUse"
    )
    return element("defs", pattern)
