"""Sizes of Qwen2.5-VL that both starVLA backbones use. Needs no torch."""

from __future__ import annotations

from phaser.policies.parts.sizes import QwenSize, QwenTextSize, QwenVisionSize

SIZES = {
    "full": QwenSize(),
    "small": QwenSize(
        text=QwenTextSize(
            vocabulary=320,
            width=192,
            mlp_width=512,
            depth=4,
            num_heads=4,
            num_key_heads=2,
            rotary_sections=(8, 8, 8),
        ),
        vision=QwenVisionSize(
            width=128,
            mlp_width=256,
            depth=4,
            num_heads=4,
            whole_image_blocks=(1, 3),
            image_size=112,
        ),
        bytes_as_tokens=True,
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
        bytes_as_tokens=True,
    ),
}
"""The published 3B size, one of about 3 M weights to learn with on a CPU, one for tests."""
