"""Shapes of the networks, the published ones and small ones for a CPU. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Tokens = Literal["checkpoint", "word-pieces", "bytes"]
"""Which tokenizer reads the prompt: the checkpoint's own, MiniLM's word pieces, or bytes."""
NUM_PIECES = 16384
"""Word pieces that the small sizes know, so that their table of words stays about 2 M weights."""
SMALL_VOCABULARY = NUM_PIECES + 64
"""With room for the special words of both families."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TowerSize:
    """The shape of a vision transformer."""

    width: int
    depth: int
    num_heads: int
    mlp_width: int
    num_registers: int = 0
    class_token: bool = False
    layer_scale: float | None = None
    """The initial value of LayerScale's learned factors; None: the tower has none."""
    image_size: int = 224
    patch_size: int = 14

    @property
    def num_patches(self) -> int:
        return (self.image_size // self.patch_size) ** 2


DINOV2 = TowerSize(
    width=1024,
    depth=24,
    num_heads=16,
    mlp_width=4096,
    num_registers=4,
    class_token=True,
    layer_scale=1e-5,
)
"""vit_large_patch14_reg4_dinov2."""
SIGLIP = TowerSize(width=1152, depth=27, num_heads=16, mlp_width=4304)
"""vit_so400m_patch14_siglip_224."""


NUM_FREQUENCIES = 128
"""Waves by which the time is written in the action head."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DitSize:
    """The shape of the transformer in the action head."""

    num_heads: int = 12
    head_width: int = 64
    depth: int = 16
    output_width: int = 1024
    interleaved: bool = True
    """Odd blocks attend to the action tokens; else every block attends to the backbone."""

    @property
    def width(self) -> int:
        return self.num_heads * self.head_width

    def attends_to_backbone(self, block: int) -> bool:
        return block % 2 == 0 or not self.interleaved


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowSize:
    """The shape of the head; the defaults are the published ones."""

    dit: DitSize = field(default_factory=DitSize)
    hidden_width: int = 1024
    num_future_tokens: int = 32
    max_chunk_length: int = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class LlamaSize:
    """The shape of a Llama language model; the defaults are OpenVLA's."""

    vocabulary: int = 32064
    width: int = 4096
    mlp_width: int = 11008
    depth: int = 32
    num_heads: int = 32
    norm_epsilon: float = 1e-6
    """Keeps a norm from dividing by zero; a checkpoint's own config.json may name another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QwenTextSize:
    """The shape of Qwen2.5-VL's language model; the defaults are those of the 3B model."""

    vocabulary: int = 151936
    width: int = 2048
    mlp_width: int = 11008
    depth: int = 36
    num_heads: int = 16
    num_key_heads: int = 2
    rotary_sections: tuple[int, int, int] = (16, 24, 24)
    """Channels of a head that turn with time, height and width; half a head in all."""

    @property
    def head_width(self) -> int:
        return self.width // self.num_heads


PATCH, FRAMES, MERGED = 14, 2, 2
"""Qwen's pixels of a patch's side, repeats in time of an image, patches of a token's side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QwenVisionSize:
    """The shape of Qwen2.5-VL's vision tower; the defaults are those of the 3B model."""

    width: int = 1280
    mlp_width: int = 3420
    depth: int = 32
    num_heads: int = 16
    whole_image_blocks: tuple[int, ...] = (7, 15, 23, 31)
    """Blocks that attend to the whole image; the others within windows of 8 × 8 patches."""
    image_size: int = 224
    """Height and width of an image in pixels; a multiple of 28."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QwenSize:
    """The shape of Qwen2.5-VL."""

    text: QwenTextSize = field(default_factory=QwenTextSize)
    vision: QwenVisionSize = field(default_factory=QwenVisionSize)
    tokens: Tokens = "checkpoint"
