"""Kept frames of one episode as short H.264 clips: each frame is predicted from those before it.

A clip has no container: every frame is one packet, and nothing is predicted from what comes later.
The first packet of a clip stands alone, so a frame is decoded from the packets up to its own, which
gives the same pixels everywhere: the standard fixes the decoder, Pillow's integer tables the colour
conversion. Colour has full resolution, as small coloured objects are what a task is about.

Frames follow each other by their ranks, not by time: what gives way first is then at the end, where
nothing depends on it. A frame may be predicted from all before it in the clip, which makes up for
most of the distance in time.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.memory import Bucket
from phaser.demos.video_library import video_library

CLIP_FRAMES = 8
"""Frames of a clip at most: more save little, and reading one decodes all before it."""
PIXELS = "yuv444p"
MARGIN = 64
"""The decoder works in blocks, so its pictures may be larger than the image by this at most."""
_LENGTH = struct.Struct("<I")
# Units of an H.264 stream begin with this, which no unit holds inside; the low five bits of the
# next byte say what the unit is.
_UNIT = re.compile(b"\0\0\0?\1")
_REMARK = 6
"""x264 writes its settings as a remark of 600 bytes into every clip."""


def in_clips(buckets: Iterable[Bucket]) -> list[tuple[FrameRef, ...]]:
    """The frames of one task's buckets, cut into the clips that they are stored as."""
    ranked = (pair for bucket in buckets for pair in zip(bucket.ranks, bucket.frames, strict=True))
    clips: list[tuple[FrameRef, ...]] = []
    in_order = sorted((ref.demo, rank, ref) for rank, ref in ranked)
    for _, episode in groupby(in_order, key=lambda one: one[0]):
        frames = tuple(ref for _, _, ref in episode)
        clips += [frames[k : k + CLIP_FRAMES] for k in range(0, len(frames), CLIP_FRAMES)]
    return clips


class ClipEncoder:
    """Takes the images of one clip in order; gives the packet of each."""

    def __init__(self, shape: tuple[int, ...], *, quality: int) -> None:
        self.shape = shape
        self._library = video_library("storing images as clips (codec 'h264')")
        self._failures = (self._library.FFmpegError, ValueError)
        context = self._library.CodecContext.create("libx264", "w")
        context.height, context.width = shape[:2]
        context.pix_fmt, context.time_base, context.thread_count = PIXELS, Fraction(1, 10), 1
        context.gop_size = CLIP_FRAMES
        # One thread and no look-ahead: a packet depends on the images before it and nothing else.
        context.options = {
            "crf": str(_rate_factor(quality)),
            "bf": "0",
            "refs": str(CLIP_FRAMES),
            "tune": "zerolatency",
            "x264-params": "log=-1",
        }
        self._context, self._count = context, 0

    def add(self, pixels: UInt8[np.ndarray, "height width channels"]) -> bytes:
        """The packet of the next image, as `packed` writes it."""
        assert pixels.shape == self.shape
        assert self._count < CLIP_FRAMES
        frame = self._library.VideoFrame.from_ndarray(_planes(pixels), format=PIXELS)
        frame.pts = self._count
        try:
            (packet,) = self._context.encode(frame)
        except self._failures as error:
            raise BadInput(
                f"the codec 'h264' cannot hold an image of {pixels.shape[0]} x {pixels.shape[1]} "
                f"pixels ({error}); use codec 'png' or 'raw'"
            ) from error
        self._count += 1
        return packed(_without_remarks(bytes(packet)))


def packed(packet: bytes) -> bytes:
    """A packet after its length, so that several can follow each other."""
    return _LENGTH.pack(len(packet)) + packet


def decode_clip(
    content: bytes, shape: tuple[int, ...], where: str
) -> UInt8[np.ndarray, "height width channels"]:
    """The last image of the packets of a clip from its first one on."""
    packets = _unpacked(content, where)
    height, width, channels = shape
    library = video_library("reading images that were stored as clips (codec 'h264')")
    context = library.CodecContext.create("h264", "r")
    context.thread_count = 1
    # The size is checked before memory is taken for it, as for other images.
    most = (height + MARGIN) * (width + MARGIN)
    context.options = {"max_pixels": str(most), "err_detect": "explode"}
    try:
        frames = [one for packet in packets for one in context.decode(library.Packet(packet))]
        frames += context.decode(None)
    except library.FFmpegError as error:
        raise BrokenFile(f"{where} is a damaged h264 clip ({error}); restore it") from error
    if len(frames) != len(packets):
        raise BrokenFile(
            f"{where} is a damaged h264 clip ({len(frames)} images in {len(packets)} packets); "
            "restore it"
        )
    found = (frames[-1].height, frames[-1].width, frames[-1].format.name)
    if found != (height, width, PIXELS):
        raise BrokenFile(
            f"{where} is a clip of {found[0]} x {found[1]} pixels ({found[2]}) where {height} x "
            f"{width} ({PIXELS}) are declared; restore the file"
        )
    return _pixels(frames[-1].to_ndarray(), channels)


def _unpacked(content: bytes, where: str) -> Sequence[bytes]:
    packets, at = list[bytes](), 0
    while at + _LENGTH.size <= len(content) and len(packets) <= CLIP_FRAMES:
        (length,) = _LENGTH.unpack_from(content, at)
        at += _LENGTH.size
        packets.append(content[at : at + length])
        at += length
    if at != len(content) or not 1 <= len(packets) <= CLIP_FRAMES or not all(packets):
        raise BrokenFile(f"{where} is no clip of 1 to {CLIP_FRAMES} packets; restore the file")
    return packets


def _planes(pixels: np.ndarray) -> UInt8[np.ndarray, "3 height width"]:
    """Brightness and two colours; a grey image has its own brightness and no colour."""
    if pixels.shape[2] == 1:
        grey = np.moveaxis(pixels, -1, 0)
        return np.concatenate([grey, np.full((2, *grey.shape[1:]), 128, np.uint8)])
    made = np.asarray(Image.fromarray(pixels).convert("YCbCr"))
    return np.ascontiguousarray(np.moveaxis(made, -1, 0))


def _pixels(planes: Any, channels: int) -> UInt8[np.ndarray, "height width channels"]:
    if channels == 1:
        grey: np.ndarray = planes[0][..., None]
        return grey
    bands = [Image.fromarray(np.ascontiguousarray(plane)) for plane in planes]
    return np.array(Image.merge("YCbCr", bands).convert("RGB"))


def _without_remarks(packet: bytes) -> bytes:
    starts = [found.span() for found in _UNIT.finditer(packet)]
    edges = [*(begin for begin, _ in starts), len(packet)]
    kept = [
        packet[begin : edges[number + 1]]
        for number, (begin, end) in enumerate(starts)
        if packet[end] & 31 != _REMARK
    ]
    return b"".join(kept)


def _rate_factor(quality: int) -> int:
    """x264's constant rate factor: 51 for quality 1, 14 for 95, 12 for 100."""
    return round(51 - 0.39 * quality)
