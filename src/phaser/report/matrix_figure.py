"""Retention matrices side by side: what is left of each task after each stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from phaser.evaluation.intervals import wilson
from phaser.report.large_matrix import large_matrix
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
    scrolling,
    shorten,
)
from phaser.report.wording import counted

CELL = 22
MARGIN_LEFT = 100
MARGIN_TOP = 20
FEW = 5
"""Cells of fewer rollouts are marked: what they show is mostly luck."""
LARGEST = 30
"""Matrices of more tasks are pictures without numbers."""

Pooled = dict[tuple[int, int], tuple[int, int]]
"""(successes, episodes) by (after position, task position), over seeds."""
Clips = dict[tuple[int, int], str]
"""The address of a clip by (after position, task position)."""


def retention_matrices(groups: Mapping[str, Sequence[RunResult]], page: Path | None = None) -> str:
    """One matrix per method; columns are tasks, rows are stages, time runs downwards.

    page: where the page will be, from which links to clips start.
    """
    orders = {run.tasks for runs in groups.values() for run in runs if not run.matrix.is_joint}
    names = next(iter(orders), next(iter(groups.values()))[0].tasks)
    if len(orders) > 1:
        names = ("after task",) * len(names)
    figures = [
        _figure(method, runs, names, page)
        for method, runs in groups.items()
        if not runs[0].matrix.is_joint
    ]
    pattern = element("svg", _hatching(), width=0, height=0, class_="patterns", aria_hidden="true")
    return pattern + element("div", "".join(figures), class_="side-by-side")


def has_few(groups: Mapping[str, Sequence[RunResult]]) -> bool:
    """Whether some cell has so few rollouts that it is marked."""
    return any(
        trials < FEW
        for runs in groups.values()
        if not runs[0].matrix.is_joint
        for _, trials in _pool(runs).values()
    )


def label_of(method: str, runs: Sequence[RunResult]) -> str:
    """A caption: the method and how many seeds it has."""
    return element("strong", escape(method)) + f" · {counted(len(runs), 'seed')}"


def _figure(method: str, runs: Sequence[RunResult], names: Sequence[str], page: Path | None) -> str:
    pooled = _pool(runs)
    caption = element("figcaption", label_of(method, runs))
    if len(names) > LARGEST:
        title = f"Success per task after each stage, {method}, {len(names)} tasks"
        return element("figure", caption + large_matrix(pooled, len(names), title), class_="matrix")
    clips = _clips(runs, page) if page is not None else {}
    name = f"Retention of {method}; arrow keys read its cells"
    said = element("output", "", aria_live="polite")
    return element(
        "figure",
        caption + scrolling(_matrix(method, pooled, clips, names), name) + said,
        class_="matrix",
    )


def _matrix(method: str, pooled: Pooled, clips: Clips, names: Sequence[str]) -> str:
    size = len(names)
    parts = []
    for index, name in enumerate(names):
        x = MARGIN_LEFT + (index + 0.5) * CELL
        number = str(index + 1)
        parts.append(label(x, MARGIN_TOP - 6, number, text_anchor="middle", class_="tick"))
        y = MARGIN_TOP + index * CELL + CELL / 2 + 4
        stage = f"{shorten(name, 13)} {number}"
        parts.append(label(MARGIN_LEFT - 7, y, stage, text_anchor="end", class_="tick"))
    for after in range(size):
        for task in range(after + 1):
            tip = (
                f"task {task + 1} ({names[task]}) after learning task {after + 1} ({names[after]})"
            )
            cell = _cell(after, task, pooled.get((after, task)), tip)
            place = {"data_row": after, "data_column": task}
            if (after, task) in clips:
                place["data_clip"] = clips[after, task]  # type: ignore[assignment]
            parts.append(cell.replace("<g>", element("g", **place).removesuffix("</g>"), 1))
    width, height = MARGIN_LEFT + size * CELL + 2, MARGIN_TOP + size * CELL + 6
    title = f"Success per task after each stage, {method}"
    return drawing(parts, width=width, height=height, title=title)


def _cell(after: int, task: int, counts: tuple[int, int] | None, tip: str) -> str:
    x, y = MARGIN_LEFT + task * CELL, MARGIN_TOP + after * CELL
    box = (x + 1, y + 1, CELL - 2, CELL - 2)
    if counts is None:
        return hover(
            rect(*box, rx=3, fill="url(#unmeasured)", class_="blank"), f"{tip}: no episodes"
        )
    rate, sure = counts[0] / counts[1], wilson(*counts)
    shade = colour(rate, SUCCESS_SCALE)
    number = label(
        x + CELL / 2,
        y + CELL / 2 + 4,
        f"{100 * rate:.0f}",
        text_anchor="middle",
        fill=ink_on(shade),
        class_="cell",
    )
    kind = "few" if counts[1] < FEW else "many"
    return hover(
        rect(*box, rx=3, fill=css(shade), class_=kind) + number,
        f"{tip}: {counts[0]} of {counted(counts[1], 'episode')}, 95 % interval "
        f"{100 * sure.lower:.0f} to {100 * sure.upper:.0f} %",
    )


def _pool(runs: Sequence[RunResult]) -> Pooled:
    pooled: Pooled = {}
    for run in runs:
        place = {task: index for index, task in enumerate(run.tasks)}
        for (after, task), cell in run.matrix.cells.items():
            key = (place[after], place[task])
            successes, trials = pooled.get(key, (0, 0))
            pooled[key] = (successes + cell.successes, trials + cell.trials)
    return pooled


def _clips(runs: Sequence[RunResult], page: Path) -> Clips:
    """The first clip of each cell, as an address seen from the page."""
    found: Clips = {}
    for run in runs:
        for clip in run.clips:
            address = (run.folder / clip.file).resolve()
            place = clip.after_index, clip.task_index
            found.setdefault(place, _relative(address, page.resolve().parent))
    return found


def _relative(target: Path, start: Path) -> str:
    from os.path import relpath
    from urllib.parse import quote

    return quote(relpath(target, start).replace("\\", "/"))


def _hatching() -> str:
    line = element("path", d="M0 6 L6 0", class_="hatch")
    pattern = element(
        "pattern", line, id="unmeasured", width=6, height=6, patternUnits="userSpaceOnUse"
    )
    return element("defs", pattern)
