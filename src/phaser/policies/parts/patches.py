"""Images as Qwen2.5-VL reads them: normalised, cut into patches, four neighbours together."""

from __future__ import annotations

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from phaser.policies.parts.sizes import FRAMES, MERGED, PATCH

MEAN = (0.48145466, 0.4578275, 0.40821073)
STD = (0.26862954, 0.26130258, 0.27577711)


def num_merged_tokens(size: int) -> int:
    """Tokens of the language model for a square image of this many pixels a side."""
    return (size // (PATCH * MERGED)) ** 2


def patches_of(
    images: UInt8[Tensor, "count size size 3"],
) -> Float[Tensor, "patches values"]:
    """All patches of all images, one image after another.

    Args:
        images: Square, with a side that is a multiple of 28 pixels.
    """
    count, size = len(images), images.shape[1]
    side = size // PATCH
    mean, std = (torch.tensor(one, device=images.device) for one in (MEAN, STD))
    x = ((images.float() / 255 - mean) / std).permute(0, 3, 1, 2)
    x = x[:, None].expand(-1, FRAMES, -1, -1, -1)
    x = x.reshape(count, FRAMES, 3, side // MERGED, MERGED, PATCH, side // MERGED, MERGED, PATCH)
    x = x.permute(0, 3, 6, 4, 7, 2, 1, 5, 8)
    return x.reshape(count * side * side, 3 * FRAMES * PATCH * PATCH)
