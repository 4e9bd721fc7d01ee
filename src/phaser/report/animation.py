"""Storyboards as moving pictures: animated WebP, or mp4 where PyAV is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from phaser.core.errors import BadInput
from phaser.core.files import write_atomically
from phaser.demos.video_writer import write_video
from phaser.evaluation.clips import PICTURE_MS, write_animation
from phaser.report.storyboard import Storyboard, Tile, Words

BACKGROUND, PLAYING = "#14171b", "#5f6875"
GREEN, RED = "#2fb35b", "#f0524a"
EDGE = 4
DIMMED = 0.6
"""How bright clips of earlier turns are."""
AFTER_TURN_MS, AT_END_MS = 900, 3200
MAX_PICTURES = 26
"""Pictures of a turn at most; longer clips are shown in larger steps, all alike."""
QUALITIES = (82, 70, 58, 46, 34, 24)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Moment:
    """One picture of the animation, and how long it is shown."""

    picture: Image.Image
    shown_ms: int


def moments(board: Storyboard) -> Iterator[Moment]:
    """The animation, picture by picture: turn after turn, each with a rest at its end."""
    longest = max(len(tile.film) for tile in board.tiles)
    stride = max(1, -(-longest // MAX_PICTURES))
    for turn in range(board.num_turns):
        playing = [tile for tile in board.tiles if tile.turn == turn]
        count = max((-(-len(tile.film) // stride) for tile in playing), default=0)
        base = _base(board, turn, at_end=False)
        for number in range(count - 1):
            picture = base.copy()
            for tile in playing:
                _draw_tile(picture, tile, number * stride)
            yield Moment(picture=picture, shown_ms=PICTURE_MS * min(stride, 2))
        last = _base(board, turn, at_end=True)
        for tile in playing:
            _draw_tile(last, tile, len(tile.film))
        is_end = turn == board.num_turns - 1
        yield Moment(picture=last, shown_ms=AT_END_MS if is_end else AFTER_TURN_MS)


def write_film(board: Storyboard, out: Path, *, max_bytes: int | None = None) -> None:
    """Write the animation in the format that the name ends with.

    max_bytes: for WebP, the quality is lowered until the file is no larger.
    """
    if out.suffix == ".mp4":
        _write_mp4(list(moments(board)), out)
    elif out.suffix == ".webp":
        _write_webp(list(moments(board)), out, max_bytes)
    else:
        raise BadInput(f"{out} ends with {out.suffix!r}; expected .webp or .mp4")


def _write_webp(shown: Sequence[Moment], out: Path, max_bytes: int | None) -> None:
    pictures, shown_ms = [one.picture for one in shown], [one.shown_ms for one in shown]
    for quality in QUALITIES:
        write_animation(out, pictures, shown_ms, quality=quality)
        if max_bytes is None or out.stat().st_size <= max_bytes:
            return
    size = out.stat().st_size
    raise BadInput(f"{out} has {size} bytes at the lowest quality; allow that many, or film less")


def _write_mp4(shown: Sequence[Moment], out: Path) -> None:
    # A picture that rests is repeated: players keep time best at a steady rate.
    pictures = [
        np.asarray(one.picture)
        for one in shown
        for _ in range(max(1, round(one.shown_ms / PICTURE_MS)))
    ]
    write_atomically(out, lambda path: write_video(path, pictures, picture_ms=PICTURE_MS))


def _base(board: Storyboard, turn: int, *, at_end: bool) -> Image.Image:
    """The words, and the clips of earlier turns as they ended."""
    picture = Image.new("RGB", (board.width, board.height), BACKGROUND)
    draw = ImageDraw.Draw(picture)
    for line in board.words:
        if _is_shown(line, turn, at_end):
            font = _font(line.size)
            draw.text((line.left, line.top), line.text, fill=line.colour, font=font)
    for tile in board.tiles:
        if tile.turn < turn:
            _draw_tile(picture, tile, len(tile.film), brightness=DIMMED)
    return picture


def _is_shown(line: Words, turn: int, at_end: bool) -> bool:
    """The sum of a turn stays until the next one is known."""
    begun = turn > line.turn or (turn == line.turn and (at_end or not line.at_end))
    if line.until is None:
        return begun
    return begun and (turn <= line.until or (turn == line.until + 1 and not at_end))


def _draw_tile(picture: Image.Image, tile: Tile, number: int, *, brightness: float = 1.0) -> None:
    """A clip at one moment, in a frame that turns green or red when the clip has ended."""
    ended = number >= len(tile.film) - 1
    pixels = tile.film[min(number, len(tile.film) - 1)]
    inner = tile.side - 2 * EDGE
    shown = Image.fromarray((pixels * brightness).astype(np.uint8))
    picture.paste(
        shown.resize((inner, inner), Image.Resampling.LANCZOS), (tile.left + EDGE, tile.top + EDGE)
    )
    draw = ImageDraw.Draw(picture)
    shade = (GREEN if tile.success else RED) if ended else PLAYING
    box = (tile.left, tile.top, tile.left + tile.side - 1, tile.top + tile.side - 1)
    draw.rectangle(box, outline=shade, width=EDGE)
    if ended:
        _draw_mark(draw, tile, shade)


def _draw_mark(draw: Any, tile: Tile, shade: str) -> None:
    """A tick or a cross, for who cannot tell green from red, and the count of the cell."""
    size = 22
    left, top = tile.left + tile.side - size, tile.top + tile.side - size
    draw.rectangle((left, top, left + size - 1, top + size - 1), fill=shade)
    strokes = (
        [((5, 11), (9, 16), (17, 6))] if tile.success else [((6, 6), (16, 16)), ((16, 6), (6, 16))]
    )
    for stroke in strokes:
        points = [(left + x, top + y) for x, y in stroke]
        draw.line(points, fill="white", width=3, joint="curve")
    font = _font(13)
    width = int(draw.textlength(tile.tally, font=font)) + 8
    place = (tile.left, tile.top + tile.side - 20, tile.left + width, tile.top + tile.side - 1)
    draw.rectangle(place, fill=shade)
    draw.text((tile.left + 4, tile.top + tile.side - 18), tile.tally, fill="white", font=font)


@cache
def _font(size: int) -> Any:
    """The font that comes with Pillow, so that films look alike everywhere."""
    return ImageFont.load_default(size)
