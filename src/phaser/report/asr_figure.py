"""What is left at the end: a line per method with its interval, seeds as small marks behind.

It is made of HTML, so that it is as wide as the screen and its letters keep their size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from phaser.report.palette import Look, looks
from phaser.report.runs import RunResult
from phaser.report.summary import MethodRow
from phaser.report.svg import element
from phaser.report.wording import counted, percent

MOST_SEEDS = 200
"""Marks of single seeds that are drawn; more would hide each other."""


def success_dots(rows: Sequence[MethodRow], groups: Mapping[str, Sequence[RunResult]]) -> str:
    """ASR from 0 to 100 %, methods below one another."""
    drawn = looks(groups)
    ticks = "".join(
        element("span", f"{share} %", style=f"left:{share}%") for share in (0, 25, 50, 75, 100)
    )
    lines = [
        element("span") + element("span", ticks, class_="track axis") + element("span"),
        *(_line(row, groups[row.method], drawn[row.method]) for row in rows),
    ]
    told = "; ".join(_tip(row) for row in rows)
    return element(
        "div",
        "".join(lines),
        class_="forest",
        role="img",
        aria_label=f"Average success after the last task. {told}",
    )


def _line(row: MethodRow, runs: Sequence[RunResult], look: Look) -> str:
    interval = row.asr.interval
    left, width = 100 * interval.lower, 100 * (interval.upper - interval.lower)
    whisker = element(
        "span",
        class_="whisker",
        style=f"left:{left:.1f}%;width:{width:.1f}%;background:{look.colour}",
    )
    seeds = [run.metrics.average_success_rate for run in runs if run.metrics][:MOST_SEEDS]
    marks = "".join(_mark(look, rate, 9.0, faint=True) for rate in seeds)
    return (
        element("span", escape(row.method), class_="name")
        + element(
            "span", whisker + marks + _mark(look, row.asr.mean, 20.0), class_="track",
            title=_tip(row),
        )
        + element("span", percent(row.asr.mean), class_="value")
    )  # fmt: skip


def _mark(look: Look, rate: float, size: float, *, faint: bool = False) -> str:
    style = f"left:{100 * rate:.1f}%" + (";opacity:.4" if faint else "")
    return element("span", look.icon(size), style=style)


def _tip(row: MethodRow) -> str:
    interval = row.asr.interval
    return (
        f"{row.method}: {percent(row.asr.mean)}, 95 % interval {percent(interval.lower)} to "
        f"{percent(interval.upper)}, {counted(row.asr.num_seeds, 'seed')}"
    )
