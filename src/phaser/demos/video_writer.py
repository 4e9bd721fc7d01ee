"""Pictures to an mp4 file that browsers and phones play (H.264)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from phaser.demos.video_library import video_library

QUALITY = "20"
"""x264's constant rate factor: lower is better and larger; 18 cannot be told from the original."""


def write_video(
    path: Path, pictures: Sequence[UInt8[np.ndarray, "height width 3"]], *, picture_ms: int
) -> None:
    """Write pictures of one size, with even sides, each shown for the same time."""
    av = video_library("writing mp4")
    height, width = pictures[0].shape[:2]
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=Fraction(1000, picture_ms))
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {"crf": QUALITY, "preset": "medium"}
        stream.codec_context.thread_count = 1
        for pixels in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
