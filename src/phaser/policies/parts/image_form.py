"""How a policy's images are made of the suite's: JPEG round trip, resize, crop.

The published protocols differ in these steps, and a policy that is trained with one form and acts
with another fails silently. So the form is one value, applied by the one input builder and saved
with the weights.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from phaser.core.errors import BadInput
from phaser.core.ranges import Range, between, check_ranges

Filter = Literal["lanczos", "bicubic", "bilinear"]
_FILTERS = {
    "lanczos": Image.Resampling.LANCZOS,
    "bicubic": Image.Resampling.BICUBIC,
    "bilinear": Image.Resampling.BILINEAR,
}
Box = tuple[float, float]
"""Left and upper edge of a crop, each as a share of what the crop leaves out."""
CENTRE: Box = (0.5, 0.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageForm:
    """Steps from the suite's image to the network's."""

    resize: Filter = "bicubic"
    """The filter by which images are brought to the network's size."""
    jpeg_quality: int | None = None
    """Encode as JPEG and decode again, as data sets do that store JPEG; None: do not."""
    crop_area: float = 1.0
    """Share of the image's area that is cropped and enlarged again: the centre when acting, any
    place in training with augmentation."""

    def __post_init__(self) -> None:
        if self.resize not in get_args(Filter):
            raise BadInput(f"resize {self.resize!r}; expected one of {get_args(Filter)}")
        check_ranges(
            self,
            crop_area=Range(low=0, high=1, without_low=True),
            jpeg_quality=between(1, 95, whole=True, or_none=True),
        )

    def __call__(
        self, image: UInt8[np.ndarray, "height width 3"], *, size: int, crop: Box = CENTRE
    ) -> UInt8[np.ndarray, "size size 3"]:
        """The image as the network reads it.

        Args:
            image: As the suite gives it.
            size: Height and width of the result.
            crop: Where to crop, if `crop_area` is below 1.
        """
        picture = Image.fromarray(np.ascontiguousarray(image))
        if self.jpeg_quality is not None:
            picture = _through_jpeg(picture, self.jpeg_quality)
        if picture.size != (size, size):
            picture = picture.resize((size, size), _FILTERS[self.resize])
        if self.crop_area < 1:
            side = size * self.crop_area**0.5
            left, upper = ((size - side) * share for share in crop)
            box = (left, upper, left + side, upper + side)
            picture = picture.resize((size, size), Image.Resampling.BILINEAR, box=box)
        return np.array(picture)


def _through_jpeg(picture: Image.Image, quality: int) -> Image.Image:
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=quality)
    content.seek(0)
    return Image.open(content).convert("RGB")
