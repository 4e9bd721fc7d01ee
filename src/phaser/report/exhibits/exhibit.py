"""A table or figure: its numbers, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Value = str | int | float | None
"""A cell; none where there is nothing to show."""
Row = tuple[Value, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One method's points, line or bars in a panel."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    low: Sequence[float] | None = None
    """Lower ends of intervals, where there are intervals; so is `high`."""
    high: Sequence[float] | None = None
    kind: Literal["line", "points"] = "line"
    hollow: bool = False
    """True for points that must not be read like the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Heat:
    """A matrix of numbers as colours."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One pair of axes, with series or with a matrix."""

    title: str = ""
    x: str = ""
    y: str = ""
    series: Sequence[Series] = ()
    heat: Heat | None = None
    logarithmic: bool = False
    """The axis of x."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exhibit:
    """One table or figure of the paper, from runs."""

    name: str
    """The name of its files."""
    caption: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    panels: tuple[Panel, ...] = ()
    """None for a table, which is then drawn as one."""


def shown(value: Value) -> str:
    """A cell as text: three decimals for small numbers, one for percentages, points and zero."""
    if value is None:
        return "–"
    if isinstance(value, float):
        size = abs(value)
        digits = ".1f" if size >= 1 or not size else ".3f" if size >= 0.001 else ".3g"
        text = f"{value:{digits}}"
        return text.replace("-", "−")
    return str(value)
