"""OpenVLA's sight: two towers side by side, joined channel by channel for each patch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from phaser.policies.parts.sizes import TowerSize
from phaser.policies.parts.vision_transformer import Film, VisionTransformer

CHANNELS_PER_CAMERA = 6
"""RGB as the first tower wants it, then RGB as the second does."""


class FusedVision(nn.Module):
    """All cameras through both towers; patches of one camera follow those of another."""

    def __init__(self, featurizer: TowerSize, fused_featurizer: TowerSize) -> None:
        super().__init__()
        self.featurizer = VisionTransformer(featurizer)
        self.fused_featurizer = VisionTransformer(fused_featurizer)

    @property
    def width(self) -> int:
        return self.featurizer.size.width + self.fused_featurizer.size.width

    def forward(
        self,
        pixels: Float[Tensor, "rows channels height width"],
        films: tuple[Sequence[Film], Sequence[Film]] | None = None,
    ) -> Float[Tensor, "rows patches features"]:
        first, second = (None, None) if films is None else films
        seen = [
            torch.cat(
                [self.featurizer(one[:, :3], first), self.fused_featurizer(one[:, 3:], second)],
                dim=2,
            )
            for one in pixels.split(CHANNELS_PER_CAMERA, dim=1)
        ]
        return torch.cat(seen, dim=1)


class Projector(nn.Module):
    """Features of patches to tokens of the language model."""

    def __init__(self, vision_width: int, language_width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(vision_width, 4 * vision_width)
        self.fc2 = nn.Linear(4 * vision_width, language_width)
        self.fc3 = nn.Linear(language_width, language_width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc3(F.gelu(self.fc2(F.gelu(self.fc1(x)))))
        return out


class LanguageFilm(nn.Module):
    """FiLM of one tower: scale and shift for each used block, from the mean word embedding."""

    def __init__(self, tower: VisionTransformer, language_width: int) -> None:
        super().__init__()
        count, width = tower.num_used_blocks, tower.size.width
        self.scale = nn.ModuleList(nn.Linear(language_width, width) for _ in range(count))
        self.shift = nn.ModuleList(nn.Linear(language_width, width) for _ in range(count))

    def forward(self, words: Float[Tensor, "rows language"]) -> list[Film]:
        return [
            (scale(words), shift(words))
            for scale, shift in zip(self.scale, self.shift, strict=True)
        ]
