"""Tokenizers: a checkpoint's own, MiniLM's word pieces, or bytes, which need no file.

All are the `tokenizers` library's; no code of a checkpoint is run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from phaser.core.errors import BadInput, BrokenFile
from phaser.encoders.minilm import tokenizer_file
from phaser.policies.parts.prompts import (
    ACTION_MARK,
    BEGIN,
    END,
    IMAGE,
    PADDING,
    VIDEO,
    VISION_BEGIN,
    VISION_END,
)
from phaser.policies.parts.sizes import NUM_PIECES, Tokens

SENTENCE_BEGIN, SENTENCE_END, LLAMA_PADDING = "<s>", "</s>", "<PAD>"
EMPTY_WORD = "▁"
"""A lone space, as sentence pieces write it."""
LLAMA_SPECIALS = (LLAMA_PADDING, SENTENCE_BEGIN, SENTENCE_END)
QWEN_SPECIALS = (PADDING, BEGIN, END, VISION_BEGIN, VISION_END, IMAGE, VIDEO, ACTION_MARK)
NUM_BYTE_TOKENS = 256 + len(LLAMA_SPECIALS) + len(QWEN_SPECIALS)


@cache
def byte_tokenizer() -> Tokenizer:
    """One token for each byte, then the special words of both families."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={one: k for k, one in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    _add_specials(made, (*LLAMA_SPECIALS, *QWEN_SPECIALS))
    return made


@cache
def piece_tokenizer() -> Tokenizer:
    """MiniLM's word pieces, the most frequent ones, then the special words of both families.

    Its file lists characters first and then pieces by their frequency, so that its beginning is a
    vocabulary of its own; rarer words are read in more pieces.
    """
    described = json.loads(tokenizer_file().read_text(encoding="utf-8"))
    described.update(truncation=None, padding=None, post_processor=None)
    words = described["model"]["vocab"]
    described["model"]["vocab"] = {word: k for word, k in words.items() if k < NUM_PIECES}
    made: Tokenizer = Tokenizer.from_str(json.dumps(described))
    _add_specials(made, (*LLAMA_SPECIALS, *QWEN_SPECIALS, EMPTY_WORD))
    return made


def _add_specials(tokenizer: Tokenizer, words: Sequence[str]) -> None:
    """Each word becomes one token, after all others; one of them begins every sentence."""
    tokenizer.add_special_tokens(
        [AddedToken(word, special=True, normalized=False) for word in words]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{SENTENCE_BEGIN} $A",
        special_tokens=[(SENTENCE_BEGIN, tokenizer.token_to_id(SENTENCE_BEGIN))],
    )


def checkpoint_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a checkpoint folder."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise BadInput(
            f"{folder} has no tokenizer.json; expected the tokenizer beside the weights: download "
            "it from the model's page, or set tokenizer bytes for a model trained on bytes"
        )
    try:
        made: Tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        # The library raises its own kind for every defect of the file.
        raise BrokenFile(f"{path} is no tokenizer ({error}); download it again") from error
    made.no_padding()
    made.no_truncation()
    return made


WITHOUT_CHECKPOINT: dict[Tokens, Callable[[], Tokenizer]] = {
    "bytes": byte_tokenizer,
    "word-pieces": piece_tokenizer,
}
"""Tokenizers that do not come with the weights."""


def lazy_tokenizer(folder: Path | None, tokens: Tokens) -> Callable[[], Tokenizer]:
    """A function that gives the tokenizer; a policy that is only counted needs none.

    Args:
        folder: The checkpoint's folder, if there is one.
        tokens: What the size reads.
    """
    if tokens in WITHOUT_CHECKPOINT:
        return WITHOUT_CHECKPOINT[tokens]
    if folder is None:
        return _no_tokenizer
    return cache(lambda: checkpoint_tokenizer(folder))


def _no_tokenizer() -> Tokenizer:
    raise BadInput(
        "the full size reads text with its checkpoint's tokenizer, but no checkpoint is given; set "
        "weights.checkpoint, or size to small or tiny"
    )


def token_id(tokenizer: Tokenizer, word: str) -> int:
    """The number of a word that the tokenizer must know."""
    found: int | None = tokenizer.token_to_id(word)
    if found is None:
        raise BadInput(
            f"the tokenizer has no token {word!r}, which this backbone's prompt needs; expected "
            "the tokenizer of its own family"
        )
    return found
