"""One colour per method, the same in every figure, from the Okabe-Ito set."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from phaser.report.svg import element

PREFERRED = {
    "sequential": "#8c8c8c",
    "er": "#e69f00",
    "er-even": "#56b4e9",
    "phaser": "#d55e00",
    "phase-only": "#009e73",
    "phaser-paper": "#cc79a7",
    "joint": "#5b5bd6",
}
SPARE = ("#0072b2", "#b8a800", "#7a5195", "#3d7d5a", "#a05a2c")


def method_colours(methods: Iterable[str]) -> dict[str, str]:
    """Known methods keep their colour; others take the spare ones in turn."""
    names = list(methods)
    others = [name for name in names if name not in PREFERRED]
    return {name: PREFERRED.get(name) or SPARE[others.index(name) % len(SPARE)] for name in names}


def legend(colours: dict[str, str]) -> str:
    """Names beside their colours, in HTML."""
    items = [
        element("span", element("i", style=f"background:{shade}") + escape(name))
        for name, shade in colours.items()
    ]
    return element("p", "".join(items), class_="legend")
