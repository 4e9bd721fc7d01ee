"""What is left at the end: one dot per method with its interval, seeds as small marks behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phaser.report.palette import method_colours
from phaser.report.runs import RunResult
from phaser.report.summary import MethodRow
from phaser.report.svg import drawing, element, hover, label, polyline
from phaser.report.wording import counted, percent

LEFT, SPAN, ROW, TOP = 118, 640, 30, 24


def success_dots(rows: Sequence[MethodRow], groups: Mapping[str, Sequence[RunResult]]) -> str:
    """ASR from 0 to 100 %, methods below one another."""
    bottom = TOP + ROW * len(rows)
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(polyline([(_x(share), TOP - 6), (_x(share), bottom)], class_="rule"))
        parts.append(
            label(_x(share), TOP - 11, f"{100 * share:.0f} %", text_anchor="middle", class_="tick")
        )
    colours = method_colours(groups)
    for index, row in enumerate(rows):
        y = TOP + (index + 0.5) * ROW
        parts.append(label(LEFT - 12, y + 4, row.method, text_anchor="end", class_="name"))
        parts.append(_dot(row, groups[row.method], y, colours[row.method]))
    title = "Average success after the last task, with 95 % intervals"
    return drawing(parts, width=LEFT + SPAN + 70, height=bottom + 6, title=title)


def _dot(row: MethodRow, runs: Sequence[RunResult], y: float, shade: str) -> str:
    interval = row.asr.interval
    seeds = "".join(
        element(
            "circle",
            cx=_x(run.metrics.average_success_rate if run.metrics else 0.0),
            cy=y,
            r=3.2,
            fill=shade,
            opacity=0.35,
        )
        for run in runs
    )
    ends = [(_x(interval.lower), y), (_x(interval.upper), y)]
    whisker = polyline(ends, stroke=shade, stroke_width=3, stroke_linecap="round", opacity=0.55)
    dot = element("circle", cx=_x(row.asr.mean), cy=y, r=6.5, fill=shade)
    value = label(_x(interval.upper) + 9, y + 4, percent(row.asr.mean), class_="name")
    tip = (
        f"{row.method}: {percent(row.asr.mean)}, 95 % interval {percent(interval.lower)} to "
        f"{percent(interval.upper)}, {counted(row.asr.num_seeds, 'seed')}"
    )
    return hover(whisker + seeds + dot + value, tip)


def _x(share: float) -> float:
    return LEFT + SPAN * share
