"""The network of OpenVLA: two towers, a projector and a Llama without a causal mask.

The sequence is: first token, patches of all cameras, the state's token, prompt, action slots, end.
Slots have embeddings of zero, every token attends to every other, and the answer to a slot is read
one position before it, as in next-token prediction.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from phaser.policies.openvla_oft.settings import OpenVlaSize
from phaser.policies.parts.fused_vision import FusedVision, LanguageFilm, Projector
from phaser.policies.parts.language_models import llama


class OpenVlaNetwork(nn.Module):
    """The base that adapters are put on; names are the published ones."""

    def __init__(self, size: OpenVlaSize) -> None:
        super().__init__()
        self.vision_backbone = FusedVision(size.featurizer, size.fused_featurizer)
        self.projector = Projector(self.vision_backbone.width, size.language.width)
        self.language_model = llama(size.language, padding_id=size.padding_id)

    def embedded(self, ids: Int[Tensor, "rows tokens"]) -> Float[Tensor, "rows tokens width"]:
        """Embeddings of words."""
        embed: Any = self.language_model.get_input_embeddings()  # type: ignore[operator]
        out: Tensor = embed(ids)
        return out

    def forward(
        self,
        ids: Int[Tensor, "rows tokens"],
        *,
        mask: Bool[Tensor, "rows tokens"],
        slots: Bool[Tensor, "rows tokens"],
        pixels: Float[Tensor, "rows channels height width"],
        state: Float[Tensor, "rows width"] | None = None,
        film: FilmOfTowers | None = None,
    ) -> Float[Tensor, "rows sequence width"]:
        """Last hidden states of the whole sequence.

        Args:
            ids: First token, prompt, slots, end, padding.
            mask: False at padding.
            slots: True at action slots.
            pixels: Six channels for each camera.
            state: The state's token.
            film: Scales and shifts the towers' features by the mean word.
        """
        words = self.embedded(ids)
        films = None if film is None else film(mean_word(words, mask & ~slots))
        seen = self.projector(self.vision_backbone(pixels, films))
        if state is not None:
            seen = torch.cat([seen, state[:, None].to(seen.dtype)], dim=1)
        words = words.masked_fill(slots[..., None], 0)
        sequence = torch.cat([words[:, :1], seen.to(words.dtype), words[:, 1:]], dim=1)
        present = torch.cat([mask[:, :1], mask.new_ones(seen.shape[:2]), mask[:, 1:]], dim=1)
        length = sequence.shape[1]
        # Four dimensions: taken as it is, where a mask of two would be made causal.
        everyone = present[:, None, None, :].expand(-1, 1, length, -1)
        model: Any = self.language_model.model
        hidden: Tensor = model(
            inputs_embeds=sequence, attention_mask=everyone, use_cache=False
        ).last_hidden_state
        return hidden


class FilmOfTowers(nn.Module):
    """FiLM for both towers."""

    def __init__(self, vision: FusedVision, language_width: int) -> None:
        super().__init__()
        self.featurizer = LanguageFilm(vision.featurizer, language_width)
        self.fused_featurizer = LanguageFilm(vision.fused_featurizer, language_width)

    def forward(self, words: Float[Tensor, "rows width"]) -> Any:
        return self.featurizer(words), self.fused_featurizer(words)


class StateProjector(nn.Module):
    """The robot's state as a token; names as published."""

    def __init__(self, state_size: int, language_width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(state_size, language_width)
        self.fc2 = nn.Linear(language_width, language_width)

    def forward(self, state: Float[Tensor, "rows state"]) -> Float[Tensor, "rows width"]:
        out: Tensor = self.fc2(nn.functional.gelu(self.fc1(state)))
        return out


def mean_word(
    words: Float[Tensor, "rows tokens width"], counted: Bool[Tensor, "rows tokens"]
) -> Float[Tensor, "rows width"]:
    """The mean embedding of the words that count: no padding, no action slots."""
    weight = counted[..., None].to(words.dtype)
    return (words * weight).sum(1) / weight.sum(1)


def unused(name: str, size: OpenVlaSize) -> bool:
    """No loss depends on the last block of a tower, on its norm, or on the word predictor."""
    if name.startswith("language_model.lm_head"):
        return True
    towers = {"featurizer": size.featurizer, "fused_featurizer": size.fused_featurizer}
    for tower, shape in towers.items():
        place = f"vision_backbone.{tower}."
        if name.startswith((f"{place}norm.", f"{place}blocks.{shape.depth - 1}.")):
            return True
    return False
