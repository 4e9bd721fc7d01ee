"""Frames of an mp4 file, decoded on demand.

A frame is asked for by its time. The decoder goes back to the key frame before it and decodes
until the first frame within half a frame of that time: the frame itself, never a neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from phaser.core.errors import BrokenFile
from phaser.demos.open_files import OpenFiles
from phaser.demos.parquet_rows import check_frames
from phaser.demos.png import MAX_SIDE
from phaser.demos.video_library import video_library

MAX_OPEN_VIDEOS = 8
MAX_SECONDS_DECODED_AHEAD = 1
"""Frames this near ahead are reached by decoding on; farther ones by seeking."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VideoImages:
    """One camera of one episode in a video; holds no open file, so it crosses processes."""

    path: Path
    start_s: float
    fps: int
    num_frames: int
    height: int
    width: int

    def __len__(self) -> int:
        return self.num_frames

    def read(self, frames: Sequence[int]) -> UInt8[np.ndarray, "count height width 3"]:
        check_frames(frames, len(self))
        pixels = np.empty((len(frames), self.height, self.width, 3), np.uint8)
        with _OPEN.borrowed(self.path) as video:
            video.check_size(self.height, self.width)
            # In order of time, so that neighbours are decoded in one go.
            for position in sorted(range(len(frames)), key=lambda k: frames[k]):
                seconds = self.start_s + int(frames[position]) / self.fps
                pixels[position] = video.pixels_at(seconds, fps=self.fps)
        return pixels


class _Video:
    """An open container, where its decoder stands, and the frame it gave last."""

    def __init__(self, path: Path) -> None:
        av = video_library("this dataset, which stores its cameras as video,")
        self._path = path
        self._failure = av.FFmpegError
        self._last: Any = None
        self._frames: Iterator[Any] | None = None
        try:
            # The format is fixed: a playlist named .mp4 could make the library open other files.
            self._container = av.open(
                f"file:{path}", format="mp4", options={"protocol_whitelist": "file"}
            )
        except self._failure as error:
            raise BrokenFile(f"{path} is not an mp4 video ({error}); restore it") from error
        if not self._container.streams.video:
            self._container.close()
            raise BrokenFile(f"{path} holds no video; restore the dataset")
        self._stream = self._container.streams.video[0]
        self._stream.codec_context.options = {"max_pixels": str(MAX_SIDE**2)}
        self._stream.codec_context.thread_count = 1
        self._base: Fraction = self._stream.time_base
        self._first = self._stream.start_time or 0

    def close(self) -> None:
        self._frames = self._last = None
        self._container.close()

    def check_size(self, height: int, width: int) -> None:
        found = (self._stream.codec_context.height, self._stream.codec_context.width)
        if found != (height, width):
            raise BrokenFile(
                f"{self._path} is a video of {found[0]} x {found[1]} pixels, its dataset declares "
                f"{height} x {width}; restore the file"
            )

    def pixels_at(self, seconds: float, *, fps: int) -> UInt8[np.ndarray, "height width 3"]:
        """The frame shown at a time, or an error when there is none within half a frame."""
        try:
            frame = self._frame_at(seconds, fps=fps)
            if (frame.height, frame.width) != (self._stream.height, self._stream.width):
                raise BrokenFile(f"{self._path} changes its size at {seconds:.3f} s")
            pixels: np.ndarray = frame.to_ndarray(format="rgb24")
        except self._failure as error:
            raise BrokenFile(f"{self._path} cannot be decoded ({error}); restore it") from error
        return pixels

    def _frame_at(self, seconds: float, *, fps: int) -> Any:
        wanted = float(seconds / self._base)
        slack = float(Fraction(1, 2 * fps) / self._base)
        if self._last is not None and abs(self._last.pts - wanted) < slack:
            return self._last
        ahead_s = (wanted - self._last.pts) * self._base if self._last is not None else -1
        if not 0 < ahead_s <= MAX_SECONDS_DECODED_AHEAD:
            self._seek(wanted)
        target, back_s = wanted, 1
        while (found := self._decode_until(wanted - slack)) is not None:
            if found.pts <= wanted + slack:
                return found
            if target <= self._first:
                break
            # An index by decoding time may point behind the frames that are shown before a key
            # frame; a step back finds the key frame on which they really depend.
            target = wanted - float(back_s / self._base)
            self._seek(target)
            back_s *= 2
        raise BrokenFile(
            f"{self._path} has no frame at {seconds:.3f} s ({fps} frames per second); "
            "restore the dataset"
        )

    def _seek(self, stamp: float) -> None:
        self._container.seek(max(int(stamp), self._first), stream=self._stream, backward=True)
        self._frames = self._container.decode(self._stream)
        self._last = None

    def _decode_until(self, stamp: float) -> Any:
        """The first frame at or after a time stamp; nothing at the end of the file."""
        for frame in self._frames or ():
            if frame.pts is None:
                raise BrokenFile(f"{self._path} has a frame without a time; restore it")
            if frame.pts >= stamp:
                self._last = frame
                return frame
        self._frames = self._last = None
        return None


_OPEN: OpenFiles[_Video] = OpenFiles(_Video, limit=MAX_OPEN_VIDEOS)
