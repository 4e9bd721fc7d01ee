"""Frames of a camera as sheets, many small pictures in one: scrubbing needs few requests."""

from __future__ import annotations

import io
from collections import OrderedDict
from threading import Lock

import numpy as np
from PIL import Image

from phaser.core.demonstration import Demo

COLUMNS, ROWS = 5, 5
FRAMES_PER_SHEET = COLUMNS * ROWS
LARGEST_SIDE = 256
QUALITY = 85
CACHE_BYTES = 256 << 20


class Sheets:
    """Makes sheets when they are asked for, and keeps the latest ones in memory."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int, str, int], bytes] = OrderedDict()
        self._size, self.reading = 0, Lock()
        """Held by whoever reads images: readers of videos and HDF5 files are made for one."""

    def sheet(self, demo: Demo, camera: str, number: int) -> bytes | None:
        """One sheet as JPEG; None where the demonstration ends before it."""
        key = (demo.task, demo.index, camera, number)
        with self.reading:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            first = number * FRAMES_PER_SHEET
            if first >= demo.num_frames:
                return None
            frames = range(first, min(first + FRAMES_PER_SHEET, demo.num_frames))
            made = _jpeg(demo.cameras[camera].read(list(frames)))
            self._kept[key] = made
            self._size += len(made)
            while self._size > CACHE_BYTES and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._size -= len(oldest)
            return made


def frame_size(height: int, width: int) -> tuple[int, int]:
    """Width and height of a frame on its sheet; never larger than it was."""
    scale = min(1.0, LARGEST_SIDE / max(height, width))
    return max(1, round(width * scale)), max(1, round(height * scale))


def _jpeg(frames: np.ndarray) -> bytes:
    width, height = frame_size(*frames.shape[1:3])
    sheet = Image.new("RGB", (COLUMNS * width, ROWS * height))
    for place, pixels in enumerate(frames):
        picture = Image.fromarray(pixels)
        if picture.size != (width, height):
            picture = picture.resize((width, height), Image.Resampling.BILINEAR)
        sheet.paste(picture, (place % COLUMNS * width, place // COLUMNS * height))
    out = io.BytesIO()
    sheet.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()
