"""A vision-language model small enough for a test: a folder with random weights, no hub."""

from __future__ import annotations

from pathlib import Path

IMAGE_WORDS = ("<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>")
WORDS = "put the cube to left right open close push pick place drawer on table a made up task"


def write_tiny_smolvlm(folder: Path) -> Path:
    """What SmolVLA asks of its backbone: a SmolVLM of two layers, with a tokenizer of few words."""
    import torch
    from transformers import (
        SmolVLMConfig,
        SmolVLMForConditionalGeneration,
        SmolVLMImageProcessor,
        SmolVLMProcessor,
    )

    tokenizer = _tokenizer()
    images = SmolVLMImageProcessor(
        size={"longest_edge": 32}, max_image_size={"longest_edge": 32}, do_image_splitting=False
    )
    config = SmolVLMConfig(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=tokenizer.pad_token_id,
        scale_factor=2,
        vision_config={
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 16,
        },
        text_config={
            "model_type": "llama",
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "pad_token_id": tokenizer.pad_token_id,
        },
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        SmolVLMForConditionalGeneration(config).save_pretrained(folder)
    SmolVLMProcessor(
        image_processor=images, tokenizer=tokenizer, video_processor=_videos()
    ).save_pretrained(folder)
    return folder


def _tokenizer():
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    special = ["<unk>", "<pad>", "<s>", "</s>", *IMAGE_WORDS]
    table = {word: place for place, word in enumerate([*special, *dict.fromkeys(WORDS.split())])}
    made = Tokenizer(WordLevel(table, unk_token="<unk>"))
    made.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=list(IMAGE_WORDS),
        extra_special_tokens={
            "image_token": "<image>",
            "fake_image_token": "<fake_token_around_image>",
            "global_image_token": "<global-img>",
        },
    )


def _videos():
    from transformers.models.smolvlm.video_processing_smolvlm import SmolVLMVideoProcessor

    return SmolVLMVideoProcessor()
