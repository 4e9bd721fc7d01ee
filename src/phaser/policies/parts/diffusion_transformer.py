"""The DiT of QwenGR00T: action tokens that attend to the backbone's tokens and to one another.

Parameters have the names of the published head. Even blocks attend to the backbone, odd blocks to
the action tokens themselves; older checkpoints attend to the backbone in every block.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from phaser.policies.parts.row_noise import RowDropout
from phaser.policies.parts.sizes import NUM_FREQUENCIES, DitSize


class TimestepEncoder(nn.Module):
    """A time between 0 and 1000 as a vector."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.timestep_embedder = nn.ModuleDict(
            {
                "linear_1": nn.Linear(2 * NUM_FREQUENCIES, width),
                "linear_2": nn.Linear(width, width),
            }
        )

    def forward(self, time: Int[Tensor, "rows"]) -> Float[Tensor, "rows width"]:
        steps = torch.arange(NUM_FREQUENCIES, dtype=torch.float32, device=time.device)
        angles = time[:, None].float() * torch.exp(-math.log(10000) * steps / (NUM_FREQUENCIES - 1))
        waves = torch.cat([angles.cos(), angles.sin()], dim=-1)
        layers = self.timestep_embedder
        hidden = F.silu(layers["linear_1"](waves))
        out: Tensor = layers["linear_2"](hidden)
        return out


class TimedNorm(nn.Module):
    """A norm whose scale and shift depend on the time."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 2 * width)
        self.norm = nn.LayerNorm(width, 1e-5, elementwise_affine=False)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        scale, shift = self.linear(F.silu(time)).chunk(2, dim=1)
        return self.norm(x) * (1 + scale[:, None]) + shift[:, None]


class HeadAttention(nn.Module):
    """Attention to a context, or to the tokens themselves."""

    def __init__(self, size: DitSize, context_width: int | None, dropout: RowDropout) -> None:
        super().__init__()
        self.num_heads = size.num_heads
        width = size.width
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(context_width or width, width)
        self.to_v = nn.Linear(context_width or width, width)
        self.to_out = nn.ModuleList([nn.Linear(width, width), dropout])

    def forward(
        self,
        x: Tensor,
        context: Tensor,
        mask: Bool[Tensor, "rows keys"] | None,
        keys: Tensor | None,
    ) -> Tensor:
        allowed = None if mask is None else mask[:, None, None, :]
        mixed = F.scaled_dot_product_attention(
            self._split(self.to_q(x)),
            self._split(self.to_k(context)),
            self._split(self.to_v(context)),
            attn_mask=allowed,
        )
        joined = mixed.transpose(1, 2).reshape(len(x), x.shape[1], -1)
        out: Tensor = self.to_out[1](self.to_out[0](joined), keys)
        return out

    def _split(self, x: Tensor) -> Tensor:
        rows, tokens, width = x.shape
        return x.view(rows, tokens, self.num_heads, width // self.num_heads).transpose(1, 2)


class FeedForward(nn.Module):
    """Four times as wide inside, with a GELU."""

    def __init__(self, width: int, first: RowDropout, second: RowDropout) -> None:
        super().__init__()
        inner = nn.ModuleDict({"proj": nn.Linear(width, 4 * width)})
        self.net = nn.ModuleList([inner, first, nn.Linear(4 * width, width), second])

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        inner, first, outer, second = self.net
        hidden = first(F.gelu(inner["proj"](x), approximate="tanh"), keys)  # type: ignore[index]
        out: Tensor = second(outer(hidden), keys)
        return out


class DitBlock(nn.Module):
    """Attention and feed-forward layer, each added to what came in."""

    def __init__(
        self, size: DitSize, *, context_width: int | None, dropout: float, number: int
    ) -> None:
        super().__init__()
        drops = [RowDropout(dropout, 4 * number + k) for k in range(4)]
        self.norm1 = TimedNorm(size.width)
        self.attn1 = HeadAttention(size, context_width, drops[0])
        self.norm3 = nn.LayerNorm(size.width, 1e-5, elementwise_affine=False)
        self.ff = FeedForward(size.width, drops[1], drops[2])
        self.final_dropout = drops[3]

    def forward(
        self,
        x: Tensor,
        time: Tensor,
        context: Tensor | None,
        mask: Tensor | None,
        keys: Tensor | None,
    ) -> Tensor:
        normed = self.norm1(x, time)
        attended = self.attn1(normed, normed if context is None else context, mask, keys)
        x = x + self.final_dropout(attended, keys)
        return x + self.ff(self.norm3(x), keys)


class Dit(nn.Module):
    """Tokens, the backbone's context and a time to a vector for each token."""

    def __init__(self, size: DitSize, *, context_width: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.timestep_encoder = TimestepEncoder(size.width)
        self.transformer_blocks = nn.ModuleList(
            DitBlock(
                size,
                context_width=context_width if size.attends_to_backbone(number) else None,
                dropout=dropout,
                number=number,
            )
            for number in range(size.depth)
        )
        self.norm_out = nn.LayerNorm(size.width, 1e-6, elementwise_affine=False)
        self.proj_out_1 = nn.Linear(size.width, 2 * size.width)
        self.proj_out_2 = nn.Linear(size.width, size.output_width)

    def forward(
        self,
        tokens: Float[Tensor, "rows tokens width"],
        context: Float[Tensor, "rows keys context"],
        *,
        time: Int[Tensor, "rows"],
        mask: Bool[Tensor, "rows keys"] | None = None,
        keys: Int[Tensor, "rows 2"] | None = None,
    ) -> Float[Tensor, "rows tokens output"]:
        """The prediction for each token.

        Args:
            tokens: State, future and action tokens.
            context: The backbone's tokens.
            time: From 0, pure noise, to 1000, pure action.
            mask: False where the context is padding.
            keys: The key of each row's dropout masks; None for no dropout.
        """
        when = self.timestep_encoder(time)
        x = tokens
        for number, block in enumerate(self.transformer_blocks):
            if self.size.attends_to_backbone(number):
                x = block(x, when, context, mask, keys)
            else:
                x = block(x, when, None, None, keys)
        shift, scale = self.proj_out_1(F.silu(when)).chunk(2, dim=1)
        out: Tensor = self.proj_out_2(self.norm_out(x) * (1 + scale[:, None]) + shift[:, None])
        return out
