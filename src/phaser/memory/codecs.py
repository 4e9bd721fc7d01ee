"""How pixels are stored: as they are, as PNG, WebP, AVIF or JPEG bytes, one image per frame, or as
short clips of neighbouring frames (H.264)."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8
from PIL import Image, JpegImagePlugin, PngImagePlugin, WebPImagePlugin, features

from phaser.core.errors import BadInput, BrokenFile, MissingDependency, UnknownName
from phaser.demos.video_library import video_library
from phaser.memory.clips import ClipEncoder, decode_clip
from phaser.memory.codec_names import CODECS
from phaser.memory.image_headers import declared_size

MAX_PIXELS = 1 << 24
"""4096 x 4096: more in one frame is taken for a decompression bomb."""
PNG_LEVEL = 1
"""zlib's effort: level 6 takes 3.4 times as long for 8 % fewer bytes (96-pixel frames)."""
WEBP_METHOD = 1
"""WebP's effort, of 6: method 4 takes 3.6 times as long for 6 % fewer bytes."""

AVIF_SPEED = 8
"""AVIF's haste, of 10; one thread, so that the bytes do not depend on the machine's cores."""

_FORMATS = {"png": "png", "webp": "webp", "webp-lossless": "webp", "jpeg": "jpeg", "avif": "avif"}
# Pictures of which each is predicted from the one before it: memory/clips.py.
_CLIPS = "h264"
# A Pillow that has never heard of a format warns when asked for it.
_BUILT = {name: name in features.modules and features.check(name) for name in ("webp", "avif")}
# The plugins themselves: Image.open would try formats that the manifest does not name.
_PLUGINS: dict[str, Callable[[io.BytesIO], Image.Image]] = {
    "png": PngImagePlugin.PngImageFile,
    "webp": WebPImagePlugin.WebPImageFile,
    "jpeg": JpegImagePlugin.JpegImageFile,
}
if _BUILT["avif"]:
    # Since Pillow 11.3.
    from PIL import AvifImagePlugin

    _PLUGINS["avif"] = AvifImagePlugin.AvifImageFile


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageCodec:
    """A way to store images; `quality` matters to the lossy ones: AVIF, WebP, JPEG and H.264."""

    name: str = "webp-lossless"
    """One of CODECS."""
    quality: int = 95

    def __post_init__(self) -> None:
        if self.name not in CODECS:
            raise UnknownName("image codec", self.name, CODECS)
        if not 1 <= self.quality <= 100:
            raise BadInput(f"image quality {self.quality}; expected 1 to 100")

    @classmethod
    def parse(cls, text: str) -> ImageCodec:
        """`png`, `raw`, `webp-lossless`, or a lossy one with its quality: `avif:80`."""
        name, _, quality = text.partition(":")
        if not quality:
            return cls(name=name)
        if not quality.isascii() or not quality.isdigit():
            raise BadInput(f"image codec {text!r}; expected a quality of 1 to 100 after the colon")
        return cls(name=name, quality=int(quality))

    @property
    def lossless(self) -> bool:
        return self.name in ("raw", "png", "webp-lossless")

    @property
    def stores_clips(self) -> bool:
        """True where neighbouring frames are stored as one clip."""
        return self.name == _CLIPS

    def __str__(self) -> str:
        return self.name if self.lossless else f"{self.name}:{self.quality}"

    def encode(self, pixels: UInt8[np.ndarray, "height width channels"]) -> bytes:
        """Bytes of an image of 1 or 3 channels; a lossless codec is held to its word."""
        if self.stores_clips:
            return ClipEncoder(pixels.shape, quality=self.quality).add(pixels)
        self.check_supported()
        image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
        try:
            content = self._encoded(image)
        except (ValueError, OSError) as error:
            raise BadInput(
                f"the codec {self} cannot hold an image of {pixels.shape[0]} x {pixels.shape[1]} "
                f"pixels ({error}); use codec 'png' or 'raw'"
            ) from error
        if self.lossless and not np.array_equal(self.decode(content, pixels.shape, "it"), pixels):
            raise BadInput(f"the codec {self} does not give these pixels back; use codec 'raw'")
        return content

    def _encoded(self, image: Image.Image) -> bytes:
        stream = io.BytesIO()
        if self.name == "png":
            image.save(stream, "PNG", compress_level=PNG_LEVEL)
        elif self.name == "jpeg":
            # Colour at full resolution: small coloured objects are what a task is about.
            image.save(stream, "JPEG", quality=self.quality, subsampling=0)
        elif self.name == "avif":
            image.convert("RGB").save(
                stream,
                "AVIF",
                quality=self.quality,
                subsampling="4:4:4",
                speed=AVIF_SPEED,
                max_threads=1,
            )
        else:
            lossless = self.name == "webp-lossless"
            effort = 0 if lossless else self.quality
            image.convert("RGB").save(
                stream, "WEBP", lossless=lossless, quality=effort, method=WEBP_METHOD
            )
        return stream.getvalue()

    def decode(
        self, content: bytes, shape: tuple[int, ...], where: str
    ) -> UInt8[np.ndarray, "height width channels"]:
        """Pixels of an image of exactly this height, width and number of channels.

        content: the image, or the packets of a clip up to the one that is wanted.
        """
        if self.stores_clips:
            return decode_clip(content, shape, where)
        self.check_supported()
        height, width, channels = shape
        kind = _FORMATS[self.name]
        found = declared_size(content, kind, where=where)
        if found != (height, width) or height * width > MAX_PIXELS:
            raise BrokenFile(
                f"{where} is an image of {found[0]} x {found[1]} pixels where {height} x {width} "
                f"(at most {MAX_PIXELS} in all) are declared; restore the file"
            )
        try:
            with _PLUGINS[kind](io.BytesIO(content)) as image:
                if image.size != (width, height):
                    raise BrokenFile(f"{where} is an image that declares two sizes; restore it")
                pixels = np.array(image)
        except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error) as error:
            raise BrokenFile(f"{where} is a damaged {kind} image ({error}); restore it") from error
        return _with_channels(pixels, channels, kind=kind, where=where)

    def check_supported(self) -> None:
        """Refuse where a library that the codec needs is missing."""
        if self.stores_clips:
            video_library(f"the codec {self}")
        if not _BUILT.get(_FORMATS.get(self.name, ""), True):
            raise MissingDependency(
                f"this Pillow was built without {_FORMATS[self.name]}, which the codec {self} "
                "needs; install Pillow 11.3 or newer as a wheel, or use the codec 'png'"
            )


def _with_channels(
    pixels: np.ndarray, channels: int, *, kind: str, where: str
) -> UInt8[np.ndarray, "height width channels"]:
    if channels == 1 and kind in ("webp", "avif") and pixels.ndim == 3:
        pixels = pixels[..., 0]  # stored in colour, as these formats have no grey images
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if pixels.dtype != np.uint8 or pixels.shape[2] != channels:
        raise BrokenFile(
            f"{where} is an image of {pixels.shape[2]} channels, declared are {channels}"
        )
    return pixels
