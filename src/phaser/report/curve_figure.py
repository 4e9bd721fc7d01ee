"""Retention against memory: a line per method with 95 % intervals, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10

from phaser.evaluation.comparison import Estimate
from phaser.report.curve import Curve
from phaser.report.palette import Look, legend, looks
from phaser.report.svg import drawing, element, hover, label, polyline
from phaser.report.wording import percent

WIDTH, HEIGHT = 400, 260
LEFT, RIGHT, TOP, BOTTOM = 44, 18, 14, 44

Spot = tuple[float, Estimate]
"""An amount of memory, and the success with it."""


def by_budget(curve: Curve) -> str:
    """Success against the budgets as they were given."""
    spots = {
        method: [(float(point.budget.amount), point.asr) for point in found]
        for method, found in curve.methods.items()
    }
    return _figure(curve, spots, curve.unit)


def by_bytes(curve: Curve) -> str:
    """Success against the encoded bytes held of a task; nothing where some were not counted."""
    spots: dict[str, list[Spot]] = {}
    for method, found in curve.methods.items():
        for point in found:
            if not point.bytes_per_task:
                return ""
            spots.setdefault(method, []).append((point.bytes_per_task, point.asr))
    return _figure(curve, spots, "encoded bytes per task")


def _figure(curve: Curve, spots: Mapping[str, Sequence[Spot]], unit: str) -> str:
    amounts = sorted({amount for found in spots.values() for amount, _ in found})
    low, high = log10(amounts[0]), log10(amounts[-1])

    def x(amount: float) -> float:
        span = (log10(amount) - low) / (high - low) if high > low else 0.5
        return LEFT + 14 + (WIDTH - LEFT - RIGHT - 28) * span

    ticks = [float(one.amount) for one in curve.budgets]
    if unit != curve.unit:
        ticks = [amounts[0], amounts[-1]]
    parts = [*_axes(unit), *(_tick(x(one), one) for one in dict.fromkeys(ticks))]
    drawn = looks([*spots, *curve.bounds])
    parts += [_bound(name, found, drawn[name]) for name, found in curve.bounds.items()]
    for name, found in spots.items():
        parts.append(_line(name, [(x(amount), one) for amount, one in found], drawn[name]))
    title = f"Success after the last task against {unit}"
    picture = drawing(parts, width=WIDTH, height=HEIGHT, title=title)
    return legend(drawn) + element("figure", picture, class_="grow")


def _line(method: str, spots: Sequence[Spot], look: Look) -> str:
    line = polyline(
        [(x, _y(one.mean)) for x, one in spots],
        stroke=look.colour,
        stroke_width=2,
        stroke_dasharray=look.dash,
    )
    marks = []
    for x, one in spots:
        ends = [(x, _y(one.interval.lower)), (x, _y(one.interval.upper))]
        whisker = polyline(ends, stroke=look.colour, stroke_width=2, opacity=0.45)
        dot = look.mark(x, _y(one.mean), 4.4)
        marks.append(hover(whisker + dot, f"{method}: {_tip(one)}"))
    return line + "".join(marks)


def _bound(method: str, estimate: Estimate, look: Look) -> str:
    """A method without a memory is a dashed line across."""
    ends = [(LEFT, _y(estimate.mean)), (WIDTH - RIGHT, _y(estimate.mean))]
    line = polyline(ends, stroke=look.colour, stroke_width=2, stroke_dasharray=look.dash)
    return hover(line, f"{method}: {_tip(estimate)}")


def _tip(one: Estimate) -> str:
    return f"{percent(one.mean)}, {percent(one.interval.lower)} to {percent(one.interval.upper)}"


def _axes(unit: str) -> list[str]:
    parts = []
    for rate in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(rate)
        parts.append(polyline([(LEFT, y), (WIDTH - RIGHT, y)], class_="rule"))
        parts.append(label(LEFT - 6, y + 4, f"{100 * rate:.0f}", text_anchor="end", class_="tick"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(label(middle, HEIGHT - 6, unit, text_anchor="middle", class_="tick"))
    return parts


def _tick(x: float, amount: float) -> str:
    return label(x, HEIGHT - BOTTOM + 18, f"{amount:,.0f}", text_anchor="middle", class_="tick")


def _y(rate: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - rate)
