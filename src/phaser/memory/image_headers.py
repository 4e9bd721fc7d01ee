"""The size an encoded image declares, read from its first bytes before anything is decoded."""

from __future__ import annotations

import struct

from phaser.core.errors import BrokenFile

_PNG_START = b"\x89PNG\r\n\x1a\n"
# Markers of a JPEG that start a frame and so declare its size; C4, C8 and CC mean other things.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def declared_size(content: bytes, codec: str, *, where: str) -> tuple[int, int]:
    """Height and width of a PNG, JPEG, WebP or AVIF image; any other content is refused."""
    try:
        size = _READERS[codec](content)
    except (struct.error, IndexError):
        size = None
    if size is None:
        raise BrokenFile(f"{where} is not a {codec} image; restore the file")
    return size


def _png(content: bytes) -> tuple[int, int] | None:
    kind, width, height = struct.unpack_from(">4x4sII", content, len(_PNG_START))
    return (height, width) if content.startswith(_PNG_START) and kind == b"IHDR" else None


def _jpeg(content: bytes) -> tuple[int, int] | None:
    if not content.startswith(b"\xff\xd8"):
        return None
    at = 2
    while content[at] == 0xFF:
        marker, length = struct.unpack_from(">BH", content, at + 1)
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return height, width
        at += 2 + length
    return None


def _webp(content: bytes) -> tuple[int, int] | None:
    """A simple file: one lossy or lossless image, never an animation."""
    start, kind, form = struct.unpack_from("<4s4x4s4s", content)
    if (start, kind) != (b"RIFF", b"WEBP"):
        return None
    if form == b"VP8 " and content[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", content, 26)
        return height & 0x3FFF, width & 0x3FFF
    if form == b"VP8L" and content[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", content, 21)
        return (bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1
    return None


def _avif(content: bytes) -> tuple[int, int] | None:
    """The size of the one image in an AVIF file: the property `ispe` of its item."""
    if content[4:12] != b"ftypavif":
        return None
    start, stop = 0, len(content)
    for kind in (b"meta", b"iprp", b"ipco", b"ispe"):
        found = _box(content, start, stop, kind)
        if found is None:
            return None
        # The first and the last of these begin with a version and flags.
        start, stop = found[0] + (4 if kind in (b"meta", b"ispe") else 0), found[1]
    width, height = struct.unpack_from(">II", content, start)
    return (height, width) if start + 8 <= stop else None


def _box(content: bytes, start: int, stop: int, kind: bytes) -> tuple[int, int] | None:
    """Where the content of the first box of a kind begins and ends, among those in a span."""
    while start + 8 <= stop:
        length, name = struct.unpack_from(">I4s", content, start)
        if length < 8 or start + length > stop:
            return None
        if name == kind:
            return start + 8, start + length
        start += length
    return None


_READERS = {"png": _png, "jpeg": _jpeg, "webp": _webp, "avif": _avif}
