"""OpenVLA's pixels: two normalised copies of each camera's image, stacked as channels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from phaser.core.streams import Stream
from phaser.policies.openvla_oft.settings import OpenVlaOft
from phaser.policies.parts.image_form import CENTRE
from phaser.policies.parts.row_noise import row_generators

NORMS = (
    ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
)
"""Mean and deviation of ImageNet for DINOv2, and those of SigLIP."""


def pixel_tensor(
    cameras: Sequence[UInt8[np.ndarray, "rows height width 3"]],
    settings: OpenVlaOft,
    *,
    places: Int[np.ndarray, "rows"],
    augment: Stream | None,
) -> Float[Tensor, "rows channels size size"]:
    """Six channels for each camera.

    Args:
        cameras: Images of each camera.
        settings: Say how images are resized, cropped and changed in colour.
        places: Places of the rows in the batch of all processes, which decide their augmentation.
        augment: Random numbers of training; None when acting.
    """
    size, rows = settings.shape.featurizer.image_size, len(places)
    generators = [None] * rows if augment is None else row_generators(augment, places)
    seen = np.empty((rows, len(cameras), size, size, 3), np.uint8)
    for row, generator in enumerate(generators):
        for number, images in enumerate(cameras):
            crop = CENTRE if generator is None else tuple(generator.random(2))
            image = settings.images(images[row], size=size, crop=crop)
            if generator is not None and settings.colour is not None:
                image = settings.colour(image, generator)
            seen[row, number] = image
    x = torch.from_numpy(seen).float().div(255).permute(0, 1, 4, 2, 3)
    copies = [
        (x - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]
        for mean, std in NORMS
    ]
    return torch.cat(copies, dim=2).flatten(1, 2)
