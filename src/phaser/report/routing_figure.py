"""The routing matrix: which old phases each new task rehearsed, against equal shares (appendix)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log2

from phaser.report.routing import PhaseWeight, Transition
from phaser.report.runs import RunResult
from phaser.report.svg import (
    ROUTING_SCALE,
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

CELL = 25
LEFT, TOP = 128, 128


def routing_matrices(groups: Mapping[str, Sequence[RunResult]]) -> str:
    """First seeds of the methods with unequal shares; all but one method are folded away."""
    figures: dict[str, str] = {}
    uniform = []
    for method, runs in groups.items():
        transitions = [step for step in runs[0].routing if step.phases]
        if not transitions:
            continue
        if all(step.is_uniform for step in transitions):
            uniform.append(method)
            continue
        caption = element("strong", escape(method)) + f" · seed {runs[0].seed}"
        figures[method] = element(
            "figure",
            element("figcaption", caption)
            + scrolling(_heat_map(method, transitions), f"Rehearsal of {method}"),
        )
    note = ""
    if uniform:
        note = element("p", escape(f"Equal shares for all phases: {', '.join(uniform)}."))
    if not figures and not uniform:
        note = element("p", "No method rehearsed anything.")
    shown = "phaser" if "phaser" in figures else next(reversed(figures), "")
    rest = [figure for method, figure in figures.items() if method != shown]
    folded = element("summary", "The other methods") + "".join(rest)
    return figures.get(shown, "") + note + (element("details", folded) if rest else "")


def _heat_map(method: str, transitions: Sequence[Transition]) -> str:
    columns: list[PhaseWeight] = []
    known: dict[tuple[str, int], int] = {}
    for step in transitions:
        for phase in step.phases:
            if (phase.task, phase.index) not in known:
                known[phase.task, phase.index] = len(columns)
                columns.append(phase)
    parts = [_column_name(position, phase) for position, phase in enumerate(columns)]
    right = LEFT + len(columns) * CELL
    parts.append(label(right + 12, TOP - 10, "entropy / equal shares, bits", class_="tick"))
    for row, step in enumerate(transitions):
        y = TOP + row * CELL
        name = shorten(step.task, 19)
        parts.append(label(LEFT - 8, y + 16, name, text_anchor="end", class_="tick"))
        parts += [
            _cell(LEFT + known[phase.task, phase.index] * CELL, y, phase, step)
            for phase in step.phases
        ]
        bits = f"{step.entropy_bits:.2f} / {step.uniform_entropy_bits:.2f}"
        parts.append(label(right + 12, y + 16, bits, class_="tick"))
    height = TOP + len(transitions) * CELL + 6
    title = f"Rehearsal weight of each old phase for each new task, {method}"
    return drawing(parts, width=right + 190, height=height, title=title)


def _column_name(position: int, phase: PhaseWeight) -> str:
    x = LEFT + (position + 0.65) * CELL
    name = shorten(f"{phase.task}: {phase.label}", 24)
    turn = f"rotate(-60 {x} {TOP - 8})"
    return hover(
        label(x, TOP - 8, name, transform=turn, class_="tick"), f"{phase.task}: {phase.label}"
    )


def _cell(x: float, y: float, phase: PhaseWeight, step: Transition) -> str:
    ratio = phase.weight * len(step.phases)
    # Colour by doublings, four-fold at the ends; a weight of zero is simply the deepest orange.
    shade = colour(log2(ratio) / 2 if ratio > 0 else -1.0, ROUTING_SCALE)
    number = label(
        x + CELL / 2,
        y + CELL / 2 + 3.5,
        f"{ratio:.1f}",
        text_anchor="middle",
        fill=ink_on(shade),
        class_="small",
    )
    tip = f"{phase.task}: {phase.label} while learning {step.task}: {ratio:.2f} × an equal share"
    return hover(rect(x + 1, y + 1, CELL - 2, CELL - 2, rx=2, fill=css(shade)) + number, tip)
