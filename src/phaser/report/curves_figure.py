"""Learning and forgetting of each task: success by stage of training, a line per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from phaser.report.palette import Look, legend, looks
from phaser.report.runs import RunResult
from phaser.report.svg import drawing, element, hover, label, polyline

WIDTH, HEIGHT = 214, 118
LEFT, RIGHT, TOP, BOTTOM = 30, 10, 10, 22


def same_order(groups: Mapping[str, Sequence[RunResult]]) -> bool:
    """All runs that have an order trained in the same one."""
    runs = [run for group in groups.values() for run in group if not run.matrix.is_joint]
    return len({run.tasks for run in runs}) <= 1


def forgetting_curves(groups: Mapping[str, Sequence[RunResult]]) -> str:
    """One small picture per task; stages that were not evaluated are bridged by a straight line."""
    ordered = {m: runs for m, runs in groups.items() if not runs[0].matrix.is_joint}
    if not ordered:
        return element("p", "A joint run learns all tasks at once: there are no stages to show.")
    drawn = looks(ordered)
    tasks = next(iter(ordered.values()))[0].tasks
    aligned = same_order(groups)
    pictures = [
        element(
            "figure",
            element("figcaption", escape(task)) + _picture(task, ordered, drawn, aligned),
        )
        for task in tasks
    ]
    return legend(drawn) + element("div", "".join(pictures), class_="grid")


def _picture(
    task: str,
    groups: Mapping[str, Sequence[RunResult]],
    drawn: Mapping[str, Look],
    aligned: bool,
) -> str:
    num_stages = len(next(iter(groups.values()))[0].tasks)
    parts = _axes(num_stages, "after task" if aligned else "tasks learnt since")
    for method, runs in groups.items():
        curve = _curve(task, runs, aligned)
        spots = [(_x(stage, num_stages), _y(k / n)) for stage, (k, n) in sorted(curve.items())]
        look = drawn[method]
        line = polyline(spots, stroke=look.colour, stroke_width=1.8, stroke_dasharray=look.dash)
        marks = "".join(look.mark(x, y, 2.8) for x, y in spots)
        readings = ", ".join(f"{100 * k / n:.0f}" for _, (k, n) in sorted(curve.items()))
        parts.append(hover(line + marks, f"{method}: {readings} %"))
    title = f"Success on {task} over the stream"
    return drawing(parts, width=WIDTH, height=HEIGHT, title=title)


def _curve(task: str, runs: Sequence[RunResult], aligned: bool) -> dict[int, tuple[int, int]]:
    """(successes, episodes) by stage, over seeds; by stages since learning when orders differ."""
    pooled: dict[int, tuple[int, int]] = {}
    for run in runs:
        learnt = run.tasks.index(task)
        for index, after in enumerate(run.tasks):
            if index < learnt or not run.matrix.has(after, task):
                continue
            stage = index if aligned else index - learnt
            k, n = pooled.get(stage, (0, 0))
            cell = run.matrix.cell(after, task)
            pooled[stage] = (k + cell.successes, n + cell.trials)
    return pooled


def _axes(num_stages: int, axis: str) -> list[str]:
    parts = []
    for rate in (0.0, 0.5, 1.0):
        y = _y(rate)
        parts.append(polyline([(LEFT, y), (WIDTH - RIGHT, y)], class_="rule"))
        parts.append(
            label(LEFT - 5, y + 3.5, f"{100 * rate:.0f}", text_anchor="end", class_="tick")
        )
    first = "1" if axis == "after task" else "0"
    last = str(num_stages if axis == "after task" else num_stages - 1)
    bottom = HEIGHT - 6
    parts.append(label(LEFT, bottom, first, text_anchor="middle", class_="tick"))
    parts.append(label(WIDTH - RIGHT, bottom, last, text_anchor="middle", class_="tick"))
    parts.append(
        label((LEFT + WIDTH - RIGHT) / 2, bottom, axis, text_anchor="middle", class_="tick")
    )
    return parts


def _x(stage: int, num_stages: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * stage / max(1, num_stages - 1)


def _y(rate: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - rate)
