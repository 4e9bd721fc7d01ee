"""One colour, shape and dash per method, the same in every figure.

Colours are of the Okabe-Ito set, darkened to be seen on white; methods that are compared differ in
shape and dash as well, for the colour-blind and for paper.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from math import cos, pi, sin

from phaser.report.svg import drawing_part, element

SHAPES = {"circle": 0, "square": 4, "diamond": -4, "triangle": 3, "wedge": -3, "hexagon": 6}
"""Corners of each shape; negative ones stand on a corner that points the other way."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a method is drawn."""

    colour: str
    shape: str
    dash: str
    """As SVG's stroke-dasharray; "none" for a solid line."""

    def mark(self, x: float, y: float, radius: float, **attributes: object) -> str:
        """The method's shape at a place of a drawing."""
        corners = SHAPES[self.shape]
        if not corners:
            return element("circle", cx=x, cy=y, r=radius, fill=self.colour, **attributes)
        turn = {4: pi / 4, -4: 0.0, 3: -pi / 2, -3: pi / 2, 6: 0.0}[corners]
        # Corners reach further than a circle of the same area.
        reach = radius * {4: 1.2, 3: 1.35, 6: 1.08}[abs(corners)]
        angles = [turn + 2 * pi * k / abs(corners) for k in range(abs(corners))]
        spots = " ".join(f"{x + reach * cos(a):.2f},{y + reach * sin(a):.2f}" for a in angles)
        return element("polygon", points=spots, fill=self.colour, **attributes)

    def icon(self, size: float = 14.0) -> str:
        """The shape alone, in a line of text."""
        return drawing_part(self.mark(size / 2, size / 2, 0.32 * size), width=size, height=size)


PREFERRED = {
    "sequential": Look("#767676", "wedge", "2 3"),
    "er": Look("#c77700", "circle", "6 3"),
    "er-even": Look("#2f8fcb", "square", "2 2"),
    "phaser": Look("#00548c", "diamond", "none"),
    "phase-only": Look("#00805d", "triangle", "9 3 2 3"),
    "phaser-paper": Look("#b0527f", "hexagon", "12 3"),
    "joint": Look("#6a4c93", "triangle", "1 3"),
}
SPARE = (
    Look("#8a7d00", "square", "8 2"),
    Look("#3d7d5a", "wedge", "4 2 1 2"),
    Look("#a05a2c", "hexagon", "3 3"),
    Look("#9a3324", "circle", "10 4"),
    Look("#4a6fa5", "diamond", "5 2"),
)


def looks(methods: Iterable[str]) -> dict[str, Look]:
    """Known methods keep their look; others take the spare ones in turn."""
    names = list(methods)
    others = [name for name in names if name not in PREFERRED]
    return {name: PREFERRED.get(name) or SPARE[others.index(name) % len(SPARE)] for name in names}


def legend(found: dict[str, Look]) -> str:
    """Names beside their shapes, in HTML."""
    items = [element("span", look.icon() + escape(name)) for name, look in found.items()]
    return element("p", "".join(items), class_="legend")
