"""Frames of a demonstration for people and for vision-language models.

Which frames to show, each with its step number printed above it, as images, as one mp4, or as a
film strip. Pillow and PyAV are imported only when a picture is made.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput, MissingDependency

if TYPE_CHECKING:
    from PIL.Image import Image

DRAWING_VERSION = 1
"""Part of what identifies a request; to be raised when frames are drawn in another way."""
_OFFSETS = (2, 5)
_BAND = 24
_SHORT_SIDE, _LONG_SIDE = 224, 512
_JPEG_QUALITY = 90


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Frame:
    """One frame of a demonstration, as recorded."""

    step: int
    pixels: UInt8[np.ndarray, "height width 3"]


def chosen_steps(candidates: Sequence[int], *, num_frames: int, max_frames: int) -> list[int]:
    """At most `max_frames` steps: both ends, every candidate and its surroundings, then the gaps.

    The widest gap is halved again and again, so that what no candidate points at is seen too.
    """
    required = dict.fromkeys([0, num_frames - 1, *candidates])
    if max_frames < len(required):
        raise BadInput(
            f"at most {max_frames} frames may be sent; {len(candidates)} candidates need "
            f"{len(required)}: allow more frames or fewer candidates"
        )
    chosen = required
    for offset in _OFFSETS:
        for step in candidates:
            for near in (step - offset, step + offset):
                if 0 <= near < num_frames and len(chosen) < max_frames:
                    chosen.setdefault(near)
    steps = sorted(chosen)
    while len(steps) < min(max_frames, num_frames):
        gaps = np.diff(steps)
        widest = int(gaps.argmax())
        steps.insert(widest + 1, steps[widest] + int(gaps[widest]) // 2)
    return steps


def read_frames(demo: Demo, camera: str | None, steps: Sequence[int]) -> tuple[Frame, ...]:
    """The frames of one camera, the demonstration's first when none is named."""
    if not demo.cameras:
        raise BadInput(
            f"demonstration {demo.index} of {demo.task!r} has no camera; a vision-language model "
            "needs frames: verify without one"
        )
    name = next(iter(demo.cameras)) if camera is None else camera
    if name not in demo.cameras:
        raise BadInput(f"no camera {name!r}; this demonstration has {sorted(demo.cameras)}")
    pixels = demo.cameras[name].read(steps)
    return tuple(Frame(step=step, pixels=one) for step, one in zip(steps, pixels, strict=True))


def drawn(frame: Frame) -> Image:
    """The frame in a readable size, its step number in a band above it that hides nothing."""
    from PIL import Image, ImageDraw

    picture = Image.fromarray(frame.pixels)
    width, height = _readable_size(*picture.size)
    canvas = Image.new("RGB", (width, height + _BAND), "black")
    canvas.paste(picture.resize((width, height), Image.Resampling.BICUBIC), (0, _BAND))
    label = f"step {frame.step}"
    ImageDraw.Draw(canvas).text((6, 2), label, fill="white", font_size=18)
    return canvas


def as_jpeg(frame: Frame) -> bytes:
    stream = io.BytesIO()
    drawn(frame).save(stream, "JPEG", quality=_JPEG_QUALITY)
    return stream.getvalue()


def as_mp4(frames: Sequence[Frame]) -> bytes:
    """One second per frame, as in the paper; for servers that take video."""
    try:
        import av
    except ImportError as error:
        raise MissingDependency(
            "sending video needs PyAV; run: pip install 'phaser-vla[video]', or send images"
        ) from error
    stream = io.BytesIO()
    with av.open(stream, "w", format="mp4") as container:
        pictures = [drawn(frame) for frame in frames]
        # Every codec of mp4 wants even sides.
        width, height = (side - side % 2 for side in pictures[0].size)
        track = container.add_stream("mpeg4", rate=1, width=width, height=height)
        track.pix_fmt = "yuv420p"
        track.bit_rate = 4_000_000
        for picture in pictures:
            cropped = np.asarray(picture.crop((0, 0, width, height)))
            container.mux(track.encode(av.VideoFrame.from_ndarray(cropped, format="rgb24")))
        container.mux(track.encode())
    return stream.getvalue()


def film_strip(frames: Sequence[Frame], *, boundaries: Sequence[int], columns: int = 12) -> Image:
    """Frames in rows of `columns`; the first frame at or after each boundary has a red edge."""
    from PIL import Image, ImageDraw

    pictures = [drawn(frame) for frame in frames]
    width, height = pictures[0].size
    num_rows = -(-len(pictures) // columns)
    strip = Image.new("RGB", (width * min(columns, len(pictures)), height * num_rows), "black")
    steps = [frame.step for frame in frames]
    begins = {int(np.searchsorted(steps, boundary)) for boundary in boundaries}
    for position, picture in enumerate(pictures):
        row, column = divmod(position, columns)
        corner = (column * width, row * height)
        strip.paste(picture, corner)
        if position in begins:
            edge = (corner[0], corner[1], corner[0] + 3, corner[1] + height - 1)
            ImageDraw.Draw(strip).rectangle(edge, fill="red")
    return strip


def _readable_size(width: int, height: int) -> tuple[int, int]:
    """Small recordings are enlarged until they can be read, large ones reduced to save tokens."""
    scale = max(1.0, _SHORT_SIDE / min(width, height))
    scale = min(scale, _LONG_SIDE / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))
