"""A few SVG and HTML primitives; every text and every attribute is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

SUCCESS_SCALE = ((0.0, (248, 240, 227)), (0.5, (122, 178, 206)), (1.0, (8, 64, 129)))
"""From sand (nothing left) to deep blue (all kept): lightness alone carries it."""

ROUTING_SCALE = ((-1.0, (179, 88, 6)), (0.0, (245, 243, 240)), (1.0, (84, 39, 136)))
"""Orange below an equal share, purple above: safe for all common colour blindness."""

Scale = Sequence[tuple[float, tuple[int, int, int]]]
Colour = tuple[int, int, int]


def element(name: str, content: str = "", /, **attributes: object) -> str:
    """An element; `content` is markup that is already escaped, attributes are escaped here."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{pairs}>{content}</{name}>"


def drawing(parts: Iterable[str], *, width: float, height: float, title: str) -> str:
    """An SVG picture with a title for screen readers; paper makes it smaller where it must."""
    return element(
        "svg",
        element("title", escape(title)) + "".join(parts),
        viewBox=f"0 0 {_plain(width)} {_plain(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
    )


def drawing_part(markup: str, *, width: float, height: float) -> str:
    """A small picture that says nothing that its text does not say."""
    return element(
        "svg",
        markup,
        viewBox=f"0 0 {_plain(width)} {_plain(height)}",
        width=width,
        height=height,
        aria_hidden="true",
    )


def scrolling(content: str, name: str) -> str:
    """A part that scrolls by itself where it is too wide, by finger, mouse or keyboard."""
    return element("div", content, class_="scroll", role="region", aria_label=name, tabindex=0)


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> str:
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def label(x: float, y: float, content: str, **attributes: object) -> str:
    return element("text", escape(content), x=x, y=y, **attributes)


def polyline(points: Iterable[tuple[float, float]], **attributes: object) -> str:
    path = " ".join(f"{_plain(x)},{_plain(y)}" for x, y in points)
    return element("polyline", points=path, fill="none", **attributes)


def hover(markup: str, tip: str) -> str:
    """A group with a tooltip."""
    return element("g", element("title", escape(tip)) + markup)


def colour(value: float, scale: Scale) -> Colour:
    """Linear between the stops of a scale; outside, its ends."""
    if value <= scale[0][0]:
        return scale[0][1]
    for (low, start), (high, stop) in pairwise(scale):
        if value <= high:
            share = (value - low) / (high - low)
            red, green, blue = (
                round(a + share * (b - a)) for a, b in zip(start, stop, strict=True)
            )
            return red, green, blue
    return scale[-1][1]


def css(shade: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*shade)


def ink_on(shade: Colour) -> str:
    """Dark or light text, whichever is readable on this shade."""
    red, green, blue = shade
    return "#1b1f24" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def shorten(name: str, length: int) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
