"""Prompts and tokens, as the published recipes have them."""

import pytest

from phaser.policies.openvla_oft.settings import SIZES as OPENVLA_SIZES
from phaser.policies.openvla_oft.text import text_tensors as openvla_text
from phaser.policies.parts.prompts import ACTION_MARK, openvla_prompt, qwen_chat, starvla_prompt
from phaser.policies.parts.qwen_sizes import SIZES as QWEN_SIZES
from phaser.policies.parts.tokens import (
    LLAMA_PADDING,
    NUM_BYTE_TOKENS,
    byte_tokenizer,
    piece_tokenizer,
    token_id,
)
from phaser.suites.metaworld.tasks import INSTRUCTIONS


def test_openvlas_question_is_in_lower_case():
    assert (
        openvla_prompt("Open the Drawer")
        == "In: What action should the robot take to open the drawer?\nOut:"
    )


def test_the_marks_of_qwen_oft_lie_inside_the_template():
    text = starvla_prompt("open it", num_marks=8)
    assert text.startswith("Your task is open it Please predict the next 8 robot actions: <action>")
    assert f"<action>{ACTION_MARK * 8}<action>.. To identify the key objects" in text
    assert text.endswith("in [x1,y1,x2,y2] format.")
    assert ACTION_MARK not in starvla_prompt("open it")


def test_a_chat_has_the_system_line_the_images_the_text_and_the_answers_beginning():
    assert qwen_chat("go", image_tokens=2, num_images=2) == (
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n"
        "<|vision_start|><|image_pad|><|image_pad|><|vision_end|>"
        "<|vision_start|><|image_pad|><|image_pad|><|vision_end|>"
        "go<|im_end|>\n<|im_start|>assistant\n"
    )


def test_bytes_are_tokens_special_words_are_one_token_and_nothing_is_lost():
    words = byte_tokenizer()
    assert words.get_vocab_size() == NUM_BYTE_TOKENS
    text = f"naïve ✓ {ACTION_MARK}"
    found = words.encode(text, add_special_tokens=False)
    assert len(found.ids) == len("naïve ✓ ".encode()) + 1
    assert found.ids[-1] == token_id(words, ACTION_MARK)
    assert words.decode(found.ids, skip_special_tokens=False) == text
    assert words.encode("a").ids[0] == token_id(words, "<s>")


def test_word_pieces_read_frequent_words_whole_rare_ones_in_parts_and_marks_as_one():
    words = piece_tokenizer()
    found = words.encode(starvla_prompt("pull the peg out", num_marks=2))
    said = found.tokens[: found.tokens.index("please")]
    assert said == ["<s>", "your", "task", "is", "pull", "the", "p", "##eg", "out"]
    assert found.tokens.count(ACTION_MARK) == 2
    assert "[UNK]" not in found.tokens


@pytest.mark.parametrize("size", [OPENVLA_SIZES["small"], QWEN_SIZES["small"]])
def test_every_word_piece_has_a_row_in_the_tables_of_the_small_sizes(size):
    words = piece_tokenizer()
    assert size.tokens == "word-pieces"
    language = size.language if hasattr(size, "language") else size.text
    assert max(words.get_vocab().values()) < language.vocabulary


def test_the_small_openvla_fills_with_the_tokenizers_own_padding():
    padding = OPENVLA_SIZES["small"].padding_id
    assert padding == token_id(piece_tokenizer(), LLAMA_PADDING)


@pytest.mark.parametrize("instruction", INSTRUCTIONS.values())
def test_no_instruction_of_meta_world_is_unknown_to_word_pieces(instruction):
    text = openvla_text(piece_tokenizer(), [instruction], num_slots=4, padding_id=0)
    assert token_id(piece_tokenizer(), "[UNK]") not in text["ids"]
