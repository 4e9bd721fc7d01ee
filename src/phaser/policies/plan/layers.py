"""Layers as arithmetic: weights, operations of a pass, and bytes that a backward pass needs.

Everything is counted for one sample. Bytes are those of a frozen bfloat16 base with float32
adapters: what autograd keeps, layer by layer, under torch's automatic mixed precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

HALF, SINGLE = 2, 4
"""Bytes of a number in bfloat16 and in float32."""


class Layer(Protocol):
    """Anything that is counted."""

    def parameters(self) -> int: ...

    def adapters(self, rank: int) -> int:
        """Weights of its LoRA adapter."""
        ...

    def trained(self) -> int:
        """Weights that are trained fully."""
        ...

    def forward_flops(self, rank: int) -> int: ...

    def backward_flops(self, rank: int) -> int: ...

    def kept_bytes(self, rank: int) -> int:
        """Bytes that the forward pass keeps for the backward pass."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Linear:
    """A linear layer."""

    inputs: int
    outputs: int
    tokens: int
    """Vectors that go through it."""
    bias: bool = True
    kind: str = "adapted"
    """"adapted": frozen, with LoRA. "frozen". "trained": fully. "first": frozen, and nothing before
    it is trained, so that no gradient passes through it."""
    shares_input: bool = False
    """Another layer already keeps its input."""

    def parameters(self) -> int:
        return self.inputs * self.outputs + self.outputs * self.bias

    def adapters(self, rank: int) -> int:
        return rank * (self.inputs + self.outputs) if self.kind == "adapted" else 0

    def trained(self) -> int:
        return self.parameters() if self.kind == "trained" else 0

    def forward_flops(self, rank: int) -> int:
        return 2 * self.tokens * (self.inputs * self.outputs + self.adapters(rank))

    def backward_flops(self, rank: int) -> int:
        products = {"adapted": 1, "frozen": 1, "trained": 2, "first": 0}[self.kind]
        through = products * self.inputs * self.outputs
        return 2 * self.tokens * (through + 2 * self.adapters(rank))

    def kept_bytes(self, rank: int) -> int:
        if self.shares_input:
            return 0
        if self.kind == "trained":
            return SINGLE * self.tokens * self.inputs
        # The adapter keeps a copy of its input, and of what it made of it.
        return HALF * self.tokens * (self.inputs + rank) if self.kind == "adapted" else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Attention:
    """Products of queries with keys, and of their weights with values."""

    queries: int
    keys: int
    width: int
    count: int = 1
    """Sequences, such as images or windows."""
    bytes_per_number: int = HALF

    def parameters(self) -> int:
        return 0

    def adapters(self, rank: int) -> int:
        return 0

    def trained(self) -> int:
        return 0

    def forward_flops(self, rank: int) -> int:
        return 4 * self.count * self.queries * self.keys * self.width

    def backward_flops(self, rank: int) -> int:
        # Five products: the weights are computed again instead of being kept.
        return 10 * self.count * self.queries * self.keys * self.width

    def kept_bytes(self, rank: int) -> int:
        vectors = 2 * self.queries + 2 * self.keys
        return self.bytes_per_number * self.count * vectors * self.width


@dataclass(frozen=True, kw_only=True, slots=True)
class Rest:
    """Norms, activation functions and embeddings: few operations, but weights or bytes."""

    weights: int = 0
    numbers: int = 0
    """Numbers that are kept for the backward pass."""
    bytes_per_number: int = SINGLE
    is_trained: bool = False

    def parameters(self) -> int:
        return self.weights

    def adapters(self, rank: int) -> int:
        return 0

    def trained(self) -> int:
        return self.weights if self.is_trained else 0

    def forward_flops(self, rank: int) -> int:
        return 0

    def backward_flops(self, rank: int) -> int:
        return 0

    def kept_bytes(self, rank: int) -> int:
        return self.bytes_per_number * self.numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Layers that follow one another, several times over."""

    part: str
    """The part of the network that the block belongs to, such as "language model"."""
    layers: Sequence[Layer]
    times: int = 1
    used: bool = True
    """False: weights that no action depends on; loaded, but never computed."""
    entering: int = 0
    """Numbers that enter a block that gradient checkpointing computes again; 0: it never does."""

    def sum(self, name: str, *arguments: int) -> int:
        """The sum of a layer's number over the layers of all copies."""
        return self.times * sum(getattr(layer, name)(*arguments) for layer in self.layers)


def transformer_block(
    *,
    width: int,
    tokens: int,
    attention: Attention,
    hidden: Sequence[Linear],
    gated: bool,
) -> list[Layer]:
    """Two norms, the attention, and what the activation between the hidden layers keeps.

    Args:
        width: Of a token.
        tokens: In the sequence.
        attention: Of the block.
        hidden: All linear layers of the block; the last one reads the activation's output.
        gated: Two branches are multiplied; else a plain activation.
    """
    inner = hidden[-1].inputs
    kept = 3 * inner if gated else inner
    norms = Rest(numbers=2 * tokens * width)
    return [*hidden, attention, norms, Rest(numbers=kept * tokens, bytes_per_number=HALF)]
