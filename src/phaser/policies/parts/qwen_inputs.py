"""Inputs of Qwen2.5-VL: chat text with places for images, patches, and the types of tokens.

Types must never be left out: without them the model silently falls back to positions in which
images are lines of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from phaser.policies.parts.image_form import ImageForm
from phaser.policies.parts.patches import num_merged_tokens, patches_of
from phaser.policies.parts.prompts import (
    IMAGE,
    PADDING,
    VIDEO,
    VISION_BEGIN,
    VISION_END,
    qwen_chat,
)
from phaser.policies.parts.sizes import PATCH, Tokens
from phaser.policies.parts.tokens import WITHOUT_CHECKPOINT, token_id

PUBLISHED_IDS = {VISION_BEGIN: 151652, VISION_END: 151653, IMAGE: 151655, VIDEO: 151656}
"""Numbers of the words for images in Qwen's own tokenizer."""


def word_ids(tokens: Tokens) -> dict[str, int]:
    """Numbers of the words for images, which the network's configuration states."""
    if tokens not in WITHOUT_CHECKPOINT:
        return PUBLISHED_IDS
    tokenizer = WITHOUT_CHECKPOINT[tokens]()
    return {word: token_id(tokenizer, word) for word in PUBLISHED_IDS}


def text_tensors(
    tokenizer: Any, texts: Sequence[str], *, num_images: int, image_size: int
) -> dict[str, Tensor]:
    """Token numbers and masks of chats, padded on the left.

    Args:
        tokenizer: Qwen's own, or that of a smaller size.
        texts: What the user says in each row.
        num_images: Images before each text.
        image_size: Their height and width in pixels.
    """
    count = num_merged_tokens(image_size)
    chats = [qwen_chat(text, image_tokens=count, num_images=num_images) for text in texts]
    encoded = [tokenizer.encode(chat, add_special_tokens=False).ids for chat in chats]
    longest = max(map(len, encoded))
    ids = torch.full((len(encoded), longest), token_id(tokenizer, PADDING))
    mask = torch.zeros_like(ids)
    for row, one in enumerate(encoded):
        ids[row, longest - len(one) :] = torch.tensor(one)
        mask[row, longest - len(one) :] = 1
    types = (ids == token_id(tokenizer, IMAGE)).long()
    return {"input_ids": ids, "attention_mask": mask, "mm_token_type_ids": types}


def image_tensors(
    cameras: Sequence[UInt8[np.ndarray, "rows height width 3"]], form: ImageForm, *, size: int
) -> dict[str, Tensor]:
    """Patches of all images, row by row and camera by camera, and the shape of each image."""
    rows = len(cameras[0])
    images = np.stack([form(one[row], size=size) for row in range(rows) for one in cameras])
    side = size // PATCH
    return {
        "pixel_values": patches_of(torch.from_numpy(images)),
        "image_grid_thw": torch.tensor([[1, side, side]] * len(images)),
    }
