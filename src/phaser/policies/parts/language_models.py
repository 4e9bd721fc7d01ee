"""Llama and Qwen2.5-VL by size; the one file that imports the transformers library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phaser.core.errors import MissingDependency
from phaser.policies.lora import BACKBONES_MISSING
from phaser.policies.parts.prompts import IMAGE, VIDEO, VISION_BEGIN, VISION_END
from phaser.policies.parts.sizes import FRAMES, MERGED, PATCH, LlamaSize, QwenSize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import nn


def llama(size: LlamaSize, *, padding_id: int) -> nn.Module:
    """A Llama whose attention takes the mask that it is given, causal or not."""
    try:
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError as error:
        raise MissingDependency(BACKBONES_MISSING) from error
    config = LlamaConfig(
        vocab_size=size.vocabulary,
        hidden_size=size.width,
        intermediate_size=size.mlp_width,
        num_hidden_layers=size.depth,
        num_attention_heads=size.num_heads,
        num_key_value_heads=size.num_heads,
        pad_token_id=padding_id,
        rms_norm_eps=size.norm_epsilon,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attn_implementation="sdpa",
    )
    model: nn.Module = LlamaForCausalLM(config)
    return model


def qwen(size: QwenSize, ids: Mapping[str, int]) -> nn.Module:
    """Qwen2.5-VL with causal attention.

    Args:
        size: Widths and depths.
        ids: Numbers of the tokenizer's words for images and videos.
    """
    try:
        from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
    except ImportError as error:
        raise MissingDependency(BACKBONES_MISSING) from error
    model: nn.Module = Qwen2_5_VLForConditionalGeneration(_qwen_config(Qwen2_5_VLConfig, size, ids))
    return model


def _qwen_config(make: Any, size: QwenSize, ids: Mapping[str, int]) -> Any:
    text, vision = size.text, size.vision
    config = make(
        text_config={
            "vocab_size": text.vocabulary,
            "hidden_size": text.width,
            "intermediate_size": text.mlp_width,
            "num_hidden_layers": text.depth,
            "num_attention_heads": text.num_heads,
            "num_key_value_heads": text.num_key_heads,
            "max_position_embeddings": 128000,
            "tie_word_embeddings": True,
            "rms_norm_eps": 1e-6,
            "rope_parameters": {
                "rope_type": "default",
                "mrope_section": list(text.rotary_sections),
                "rope_theta": 1e6,
            },
            "bos_token_id": None,
            "eos_token_id": None,
        },
        vision_config={
            "depth": vision.depth,
            "hidden_size": vision.width,
            "intermediate_size": vision.mlp_width,
            "num_heads": vision.num_heads,
            "out_hidden_size": text.width,
            "patch_size": PATCH,
            "spatial_merge_size": MERGED,
            "temporal_patch_size": FRAMES,
            "window_size": 112,
            "fullatt_block_indexes": list(vision.whole_image_blocks),
        },
        image_token_id=ids[IMAGE],
        video_token_id=ids[VIDEO],
        vision_start_token_id=ids[VISION_BEGIN],
        vision_end_token_id=ids[VISION_END],
        tie_word_embeddings=True,
    )
    config._attn_implementation = "sdpa"
    return config
