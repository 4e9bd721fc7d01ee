"""Sizes of Qwen2.5-VL that both starVLA backbones use. Needs no torch."""

from __future__ import annotations

from phaser.policies.parts.sizes import (
    SMALL_VOCABULARY,
    QwenSize,
    QwenTextSize,
    QwenVisionSize,
)

SIZES = {
    "full": QwenSize(),
    "small": QwenSize(
        text=QwenTextSize(
            vocabulary=SMALL_VOCABULARY,
            width=128,
            mlp_width=384,
            depth=4,
            num_heads=4,
            num_key_heads=2,
            rotary_sections=(4, 6, 6),
        ),
        vision=QwenVisionSize(
            width=96,
            mlp_width=192,
            depth=4,
            num_heads=3,
            whole_image_blocks=(1, 3),
            image_size=112,
        ),
        tokens="word-pieces",
    ),
    "tiny": QwenSize(
        text=QwenTextSize(
            vocabulary=320,
            width=48,
            mlp_width=96,
            depth=2,
            num_heads=4,
            num_key_heads=2,
            rotary_sections=(2, 2, 2),
        ),
        vision=QwenVisionSize(
            width=32,
            mlp_width=64,
            depth=2,
            num_heads=2,
            whole_image_blocks=(1,),
            image_size=56,
        ),
        tokens="bytes",
    ),
}
"""The published 3B size, one of about 4 M weights to learn with on a CPU, one for tests."""
