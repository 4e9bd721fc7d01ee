"""Frames of a demonstration inside an SVG: a strip along its time, a card per phase."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from phaser.core.demonstration import Demo
from phaser.core.segmentation import Segmentation
from phaser.phases.vlm_frames import Frame, read_frames
from phaser.report.svg import element, label, rect

STRIP_HEIGHT, CARD_HEIGHT, CAPTION_HEIGHT = 96, 150, 54
MAX_SIDE = 224
"""Larger frames are reduced: the file should stay small enough to be sent by mail."""


def film_strip(
    demo: Demo, camera: str | None, *, left: float, top: float, width: float
) -> tuple[str, float]:
    """Evenly spaced frames, each under the time it shows; nothing without a camera."""
    if not demo.cameras:
        return label(left, top + 16, "no camera in these demonstrations", class_="tick"), 22
    first = read_frames(demo, camera, [0])[0]
    rows, columns = first.pixels.shape[:2]
    # Very wide frames are shown lower rather than cut.
    thumb = min(width / 2, STRIP_HEIGHT * columns / rows)
    height = thumb * rows / columns
    count = min(int(width / thumb), demo.num_frames)
    steps = [int((k + 0.5) / count * demo.num_frames) for k in range(count)]
    slot = width / count
    parts = [rect(left, top, width, height, fill="#14171b")]
    for position, frame in enumerate(read_frames(demo, camera, steps)):
        x = left + position * slot + (slot - thumb) / 2
        parts.append(_picture(frame, x, top, thumb, height))
    return "".join(parts), height


def cards(
    demo: Demo,
    camera: str | None,
    cut: Segmentation,
    captions: Sequence[Sequence[str]],
    *,
    left: float,
    top: float,
    width: float,
) -> tuple[str, float]:
    """The first frame of every phase with its caption below; captions alone without a camera."""
    slot = width / max(len(cut.phases), 4)
    starts = [one.start for one in cut.phases]
    frames = read_frames(demo, camera, starts) if demo.cameras else ()
    height = 0.0
    parts = []
    for position, frame in enumerate(frames):
        rows, columns = frame.pixels.shape[:2]
        wide = min(slot - 14, CARD_HEIGHT * columns / rows)
        height = wide * rows / columns
        parts.append(_picture(frame, left + position * slot, top, wide, height))
    for position, lines in enumerate(captions):
        for row, text in enumerate(lines):
            x, y = left + position * slot, top + height + 17 + 16 * row
            parts.append(label(x, y, text, class_="soft" if row else "strong"))
    return "".join(parts), height + CAPTION_HEIGHT


def _picture(frame: Frame, x: float, y: float, width: float, height: float) -> str:
    content = base64.b64encode(_png(frame.pixels)).decode()
    picture = element(
        "image",
        element("title", f"step {frame.step}"),
        href=f"data:image/png;base64,{content}",
        x=x,
        y=y,
        width=width,
        height=height,
    )
    return picture + _step_number(frame.step, x, y)


def _step_number(step: int, x: float, y: float) -> str:
    back = rect(x, y, 7.0 * len(str(step)) + 8, 15, fill="#14171b", opacity=0.75)
    return back + label(x + 4, y + 11.5, str(step), class_="number")


def _png(pixels: np.ndarray) -> bytes:
    picture = Image.fromarray(pixels)
    picture.thumbnail((MAX_SIDE, MAX_SIDE))
    stream = io.BytesIO()
    picture.save(stream, "PNG", optimize=True)
    return stream.getvalue()
