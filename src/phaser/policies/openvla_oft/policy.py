"""OpenVLA-OFT as a policy: parallel decoding of a chunk, L1 regression."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from phaser.core.contract import Contract
from phaser.core.samples import Samples
from phaser.core.streams import Stream
from phaser.policies.lora import without_adapters
from phaser.policies.openvla_oft import checkpoint
from phaser.policies.openvla_oft.network import (
    FilmOfTowers,
    OpenVlaNetwork,
    StateProjector,
    unused,
)
from phaser.policies.openvla_oft.pixels import pixel_tensor
from phaser.policies.openvla_oft.settings import OpenVlaOft
from phaser.policies.openvla_oft.text import text_tensors
from phaser.policies.parts.backbone import BackbonePolicy, mean_over_valid, seeded
from phaser.policies.parts.inputs import Inputs
from phaser.policies.parts.mlp_resnet import RegressionHead
from phaser.policies.parts.prompts import OPENVLA
from phaser.policies.parts.tokens import lazy_tokenizer


class OpenVlaOftPolicy(BackbonePolicy):
    """Call it with a batch for the mean absolute error of each sample."""

    name = "openvla-oft"
    settings: OpenVlaOft
    vlm: OpenVlaNetwork

    def __init__(self, settings: OpenVlaOft, contract: Contract, stream: Stream) -> None:
        super().__init__(settings, contract)
        size = checkpoint.shape_of(settings.shape, self.folder)
        self._tokenizer = lazy_tokenizer(self.folder, size.tokens)
        self.vlm = self._base(lambda: OpenVlaNetwork(size), stream, checkpoint.BASE)
        with seeded(stream, 1):
            self._adapt(unused=lambda name: unused(name, size))
        with seeded(stream, 2):
            self._add_heads(contract)
        if self.folder is not None and settings.weights.head == "checkpoint":
            checkpoint.load_heads(self, self.folder)
        self._settle()

    def forward(self, batch: Inputs, noise: Stream) -> Float[Tensor, "rows"]:
        """The mean absolute error of each sample over the valid part of its chunk."""
        said = self._chunks(batch, None)
        return mean_over_valid((said - batch.actions).abs(), batch)

    def features(self, batch: Inputs) -> Float[Tensor, "rows width"]:
        """The mean over all slots of what the head reads."""
        return self._read(batch).mean(1)

    @torch.no_grad()
    def frozen_features(self, batch: Inputs) -> Float[Tensor, "rows width"]:
        """The same of the base alone: without adapters, state token and FiLM, which are trained."""
        with without_adapters(self.vlm):
            return self._read(batch, base_alone=True).mean(1)

    def _add_heads(self, contract: Contract) -> None:
        size, num_actions = self.settings.shape, len(contract.action)
        self.action_head = RegressionHead(
            input_width=num_actions * size.language.width,
            hidden_width=size.head_width,
            action_size=num_actions,
        )
        self.proprio_projector = (
            StateProjector(len(contract.state), size.language.width)
            if self.settings.use_state
            else None
        )
        self.film = (
            FilmOfTowers(self.vlm.vision_backbone, size.language.width)
            if self.settings.film
            else None
        )

    def _chunks(self, batch: Inputs, start: Tensor | None) -> Float[Tensor, "rows chunk action"]:
        read = self._read(batch)
        said: Tensor = self.action_head(read.unflatten(1, (self.chunk_length, -1)).flatten(2))
        return said

    def _read(
        self, batch: Inputs, *, base_alone: bool = False
    ) -> Float[Tensor, "rows slots width"]:
        """The last hidden states that answer for the action slots, in float32."""
        seen = batch.tensors
        project = None if base_alone else self.proprio_projector
        with self.in_precision():
            hidden = self.vlm(
                seen["ids"],
                mask=seen["mask"],
                slots=seen["slots"],
                pixels=seen["pixels"],
                state=None if project is None else project(batch.states),
                film=None if base_alone else self.film,
            )
        num_slots = self.chunk_length * len(self.suite.action)
        num_seen = hidden.shape[1] - seen["ids"].shape[1]
        steps = torch.arange(num_slots, device=hidden.device)
        first = num_seen + seen["prompt_lengths"] - 1
        places = (first[:, None] + steps)[..., None].expand(-1, -1, hidden.shape[2])
        return hidden.gather(1, places).float()

    def _tensors(
        self, samples: Samples, places: Int[np.ndarray, "rows"], augment: Stream | None
    ) -> dict[str, Tensor]:
        settings = self.settings
        text = text_tensors(
            self._tokenizer(),
            samples.instructions,
            num_slots=self.chunk_length * len(self.suite.action),
            padding_id=settings.shape.padding_id,
        )
        pixels = pixel_tensor(
            [samples.images[name] for name in self.cameras],
            settings,
            places=places,
            augment=augment,
        )
        return {name: one.to(self.device) for name, one in {**text, "pixels": pixels}.items()}

    def _write_published(self, folder: Path) -> None:
        checkpoint.write(self, folder)

    def _seen_as(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "size": settings.size,
            "images": {"size": settings.shape.featurizer.image_size, **asdict(settings.images)},
            "prompt": OPENVLA,
            "use_state": settings.use_state,
            "film": settings.film,
        }
