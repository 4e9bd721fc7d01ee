"""OpenVLA's token sequence: first token, prompt, empty token, action slots, end, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from phaser.policies.parts.prompts import openvla_prompt
from phaser.policies.parts.tokens import EMPTY_WORD, SENTENCE_END, token_id

EMPTY_WORDS = (EMPTY_WORD, "Ġ")
"""A lone space, as sentence pieces and as bytes write it."""


def text_tensors(
    tokenizer: Any, instructions: Sequence[str], *, num_slots: int, padding_id: int
) -> dict[str, Tensor]:
    """Token numbers, the mask of padding, the action slots, and where prompts end.

    Args:
        tokenizer: Puts its first token before a text by itself.
        instructions: One for each row.
        num_slots: Numbers in a chunk of actions.
        padding_id: Fills shorter rows at their end.
    """
    end, empty = token_id(tokenizer, SENTENCE_END), _empty(tokenizer)
    prompts = []
    for instruction in instructions:
        words = list(tokenizer.encode(openvla_prompt(instruction)).ids)
        prompts.append(words if words[-1] == empty else [*words, empty])
    longest = max(map(len, prompts)) + num_slots + 1
    ids = torch.full((len(prompts), longest), padding_id)
    mask, slots = (torch.zeros_like(ids, dtype=torch.bool) for _ in range(2))
    for row, prompt in enumerate(prompts):
        after = len(prompt) + num_slots
        # Slots hold a word for the embedding's sake; its embedding is replaced by zeros.
        ids[row, : after + 1] = torch.tensor([*prompt, *([empty] * num_slots), end])
        mask[row, : after + 1] = True
        slots[row, len(prompt) : after] = True
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    return {"ids": ids, "mask": mask, "slots": slots, "prompt_lengths": lengths}


def _empty(tokenizer: Any) -> int:
    for word in EMPTY_WORDS:
        found: int | None = tokenizer.token_to_id(word)
        if found is not None:
            return found
    return token_id(tokenizer, EMPTY_WORDS[0])
