"""The two vision towers of OpenVLA, DINOv2 with registers and SigLIP, in plain torch.

Parameters have timm's names, with OpenVLA's one change (`scale_factor` for LayerScale's `gamma`),
so that published weights fit by name. Features are those of the second-to-last block, without the
final norm and without class and register tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from phaser.policies.parts.sizes import TowerSize

Film = tuple[Tensor, Tensor]
"""Scale and shift of each channel, for each row."""


class LayerScale(nn.Module):
    """A learned factor for each channel."""

    def __init__(self, width: int, start: float) -> None:
        super().__init__()
        self.scale_factor = nn.Parameter(torch.full((width,), start))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale_factor


class Attention(nn.Module):
    """Self-attention of all tokens to all tokens."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Float[Tensor, "rows tokens width"]) -> Float[Tensor, "rows tokens width"]:
        rows, tokens, width = x.shape
        split = self.qkv(x).reshape(rows, tokens, 3, self.num_heads, width // self.num_heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.proj(mixed.transpose(1, 2).reshape(rows, tokens, width))
        return out


class Mlp(nn.Module):
    """Two layers with a GELU between them."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc2(F.gelu(self.fc1(x)))
        return out


class Block(nn.Module):
    """Attention, then an MLP; FiLM, where given, acts between the two."""

    def __init__(self, size: TowerSize) -> None:
        super().__init__()
        width = size.width
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(width, size.num_heads)
        self.ls1 = _layer_scale(size)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = Mlp(width, size.mlp_width)
        self.ls2 = _layer_scale(size)

    def forward(self, x: Tensor, film: Film | None = None) -> Tensor:
        x = x + self.ls1(self.attn(self.norm1(x)))
        if film is not None:
            scale, shift = film
            x = x * (1 + scale[:, None]) + shift[:, None]
        return x + self.ls2(self.mlp(self.norm2(x)))


class PatchEmbed(nn.Module):
    """Patches of pixels to tokens."""

    def __init__(self, size: TowerSize) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, size.width, size.patch_size, size.patch_size)

    def forward(self, pixels: Tensor) -> Tensor:
        tokens: Tensor = self.proj(pixels)
        return tokens.flatten(2).transpose(1, 2)


class VisionTransformer(nn.Module):
    """One tower: pixels to a feature for each patch."""

    def __init__(self, size: TowerSize) -> None:
        super().__init__()
        self.size = size
        self.checkpointing = False
        self.patch_embed = PatchEmbed(size)
        self.cls_token = _token(1, size.width) if size.class_token else None
        self.reg_token = _token(size.num_registers, size.width) if size.num_registers else None
        self.pos_embed = _token(size.num_patches, size.width)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.depth))
        self.norm = nn.LayerNorm(size.width, eps=1e-6)

    @property
    def num_used_blocks(self) -> int:
        """Blocks that the features come through: all but the last."""
        return self.size.depth - 1

    def forward(
        self,
        pixels: Float[Tensor, "rows 3 height width"],
        films: Sequence[Film] | None = None,
    ) -> Float[Tensor, "rows patches channels"]:
        x = self.patch_embed(pixels) + self.pos_embed
        prefix = [
            token.expand(len(x), -1, -1)
            for token in (self.cls_token, self.reg_token)
            if token is not None
        ]
        x = torch.cat([*prefix, x], dim=1)
        for index, block in enumerate(self.blocks[: self.num_used_blocks]):
            film = None if films is None else films[index]
            if self.checkpointing and self.training:
                x = checkpoint(block, x, film, use_reentrant=False)
            else:
                x = block(x, film)
        return x[:, x.shape[1] - self.size.num_patches :]


def _layer_scale(size: TowerSize) -> nn.Module:
    return nn.Identity() if size.layer_scale is None else LayerScale(size.width, size.layer_scale)


def _token(count: int, width: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(1, count, width) * 0.02)
