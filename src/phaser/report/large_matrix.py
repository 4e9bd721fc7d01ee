"""A retention matrix of many tasks as one small picture, a dot per cell."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from html import escape

import numpy as np
from PIL import Image

from phaser.report.svg import SUCCESS_SCALE, colour

UNMEASURED = (200, 200, 200)
MOST_DOTS = 400
"""Larger matrices are shown in larger steps."""


def large_matrix(
    pooled: Mapping[tuple[int, int], tuple[int, int]], num_tasks: int, title: str
) -> str:
    """An image with its numbers left out; the tables have those of the end.

    pooled: (successes, episodes) by (stage, task).
    """
    step = -(-num_tasks // MOST_DOTS)
    size = -(-num_tasks // step)
    counts = np.zeros((2, size, size))
    for (after, task), found in pooled.items():
        counts[:, after // step, task // step] += found
    pixels = np.full((size, size, 4), (*UNMEASURED, 0), dtype=np.uint8)
    for row, column in zip(*np.nonzero(np.tri(size)), strict=True):
        solved, tried = counts[:, row, column]
        shade = colour(solved / tried, SUCCESS_SCALE) if tried else UNMEASURED
        pixels[row, column] = (*shade, 255)
    stream = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(stream, "PNG", optimize=True)
    content = base64.b64encode(stream.getvalue()).decode()
    return f'<img src="data:image/png;base64,{content}" alt="{escape(title)}">'
