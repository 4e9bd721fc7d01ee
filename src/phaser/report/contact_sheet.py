"""Contact sheets of a memory: for every phase, small pictures of the frames that were kept.

One HTML file without links or scripts; pictures are JPEG inside it. Names come from files and are
escaped.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from phaser.report.style import STYLE
from phaser.report.svg import element

MAX_SIDE = 128
"""Larger frames are reduced: the page should stay small enough to be opened by a browser."""
QUALITY = 85
_STYLE = """
.sheet { display: flex; flex-wrap: wrap; gap: 8px; margin: 6px 0 22px; }
.sheet figure { width: 128px; }
.sheet img { display: block; width: 128px; border-radius: 3px; background: var(--wash); }
.sheet figcaption { font-size: 11px; color: var(--soft); font-variant-numeric: tabular-nums; }
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Thumbnail:
    """One kept frame."""

    pixels: UInt8[np.ndarray, "height width 3"]
    caption: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PhaseSheet:
    """The kept frames of one phase, or some of them when there are many."""

    label: str
    about: str
    thumbnails: Iterable[Thumbnail]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskSheet:
    """One task with its phases in order."""

    name: str
    about: str
    phases: Sequence[PhaseSheet]


def contact_sheet(tasks: Sequence[TaskSheet], *, title: str, about: str) -> str:
    """The whole page; frames are read one phase at a time."""
    sections = "".join(element("section", _task(task)) for task in tasks)
    head = element("title", escape(title)) + element("style", STYLE + _STYLE)
    body = element(
        "main",
        element(
            "header",
            element("p", "Kept frames", class_="kicker")
            + element("h1", escape(title))
            + element("p", escape(about), class_="lead"),
        )
        + sections,
    )
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    page = element("html", element("head", meta + head) + element("body", body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _task(task: TaskSheet) -> str:
    phases = "".join(_phase(phase) for phase in task.phases)
    return element("h2", escape(task.name)) + _lead(task.about) + phases


def _phase(phase: PhaseSheet) -> str:
    figures = "".join(_figure(one) for one in phase.thumbnails)
    return (
        element("h3", escape(phase.label))
        + _lead(phase.about)
        + element("div", figures, class_="sheet")
    )


def _lead(text: str) -> str:
    return element("p", escape(text), class_="lead")


def _figure(one: Thumbnail) -> str:
    content = base64.b64encode(_jpeg(one.pixels)).decode()
    # No closing tag: an image is a void element of HTML.
    picture = f'<img src="data:image/jpeg;base64,{content}" alt="{escape(one.caption)}">'
    return element("figure", picture + element("figcaption", escape(one.caption)))


def _jpeg(pixels: UInt8[np.ndarray, "height width 3"]) -> bytes:
    picture = Image.fromarray(pixels)
    picture.thumbnail((MAX_SIDE, MAX_SIDE))
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=QUALITY)
    return stream.getvalue()
