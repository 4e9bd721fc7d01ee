"""The tiny policy itself: a read-out of frozen image maps, or a small network from pixels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from phaser.core.contract import Contract
from phaser.core.policy import FrontEnd, Observation
from phaser.core.samples import Samples
from phaser.core.streams import Stream
from phaser.encoders.maps import EfficientNetMaps
from phaser.encoders.minilm import MiniLM
from phaser.policies.module_policy import ModulePolicy
from phaser.policies.row_noise import RowNoise
from phaser.policies.tiny.network import FlowHead, PixelMaps, RegressionHead, TinyTrunk
from phaser.policies.tiny.settings import Tiny


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TinyBatch:
    """Samples as tensors."""

    inputs: dict[str, Tensor]
    states: Float[Tensor, "rows state"]
    language: Float[Tensor, "rows language"]
    actions: Float[Tensor, "rows chunk action"]
    valid: Bool[Tensor, "rows chunk"]
    places: np.ndarray | None
    num_places: int | None

    def __len__(self) -> int:
        return len(self.states)

    def single_rows(self) -> Iterator[tuple[dict[str, Tensor], Tensor, Tensor]]:
        """What the trained part reads of each row alone."""
        for row in range(len(self)):
            one = slice(row, row + 1)
            maps = {name: rows[one] for name, rows in self.inputs.items()}
            yield maps, self.states[one], self.language[one]


class TinyPolicy(ModulePolicy):
    """The policy (`core.policy.Policy`)."""

    _centre: Tensor
    _scale: Tensor

    def __init__(self, settings: Tiny, contract: Contract) -> None:
        super().__init__(contract, name="tiny", chunk_length=settings.chunk_length)
        self.settings = settings
        self.action_size = len(contract.action)
        self._language = MiniLM()
        self._embedded: dict[str, Tensor] = {}
        front_end = settings.front_end(contract)
        self._front_end = front_end
        if isinstance(front_end, EfficientNetMaps):
            self.encoders = nn.ModuleDict()
            depths = front_end.depths
        else:
            self.encoders = nn.ModuleDict({camera: PixelMaps() for camera in contract.cameras})
            depths = dict.fromkeys(contract.cameras, PixelMaps.depth)
        self.trunk = TinyTrunk(
            depths=depths,
            channels=settings.channels,
            width=settings.width,
            state_size=len(contract.state),
            language_size=self._language.width,
        )
        head = RegressionHead if settings.head == "regression" else FlowHead
        self.head = head(settings.width, settings.chunk_length * self.action_size)
        self.register_buffer("_centre", torch.tensor(contract.state_centre), persistent=False)
        self.register_buffer("_scale", torch.tensor(contract.state_scale), persistent=False)

    @property
    def front_end(self) -> FrontEnd:
        return self._front_end

    @property
    def offers(self) -> frozenset[str]:
        return frozenset({"features", "outputs"})

    def batch(self, samples: Samples, *, augment: Stream | None = None) -> TinyBatch:
        return TinyBatch(
            inputs={name: torch.from_numpy(rows) for name, rows in samples.images.items()},
            states=torch.from_numpy(samples.states),
            language=self._embeddings(samples.instructions),
            actions=torch.from_numpy(samples.actions),
            valid=torch.from_numpy(samples.valid),
            places=samples.places,
            num_places=samples.num_places,
        )

    def forward(self, batch: TinyBatch, noise: Stream) -> Float[Tensor, "rows"]:
        """Mean action error of each sample over the valid part of its chunk."""
        draws = RowNoise(noise, places=batch.places, num_places=batch.num_places)
        errors = self.head.losses(self.features(batch), batch.actions.flatten(1), draws)
        valid = batch.valid[..., None].expand_as(batch.actions).flatten(1).float()
        return (errors * valid).sum(1) / valid.sum(1)

    def features(self, batch: TinyBatch) -> Float[Tensor, "rows width"]:
        """What the head reads of each sample."""
        return self._features(batch.inputs, batch.states, batch.language)

    def outputs(self, batch: TinyBatch) -> Float[Tensor, "rows chunk action"]:
        """The chunk for each sample, with gradients; of the flow head the one from zero noise."""
        chunks = self.head.sample(self.features(batch), torch.zeros_like(batch.actions.flatten(1)))
        return chunks.view_as(batch.actions)

    @torch.no_grad()
    def act(
        self, observations: Sequence[Observation], streams: Sequence[Stream]
    ) -> Float[np.ndarray, "count chunk action"]:
        """A chunk per observation; each stream makes that episode's noise its own.

        The frozen encoder sees all observations together, the trained part one at a time: products
        of matrices round differently with their size, and an episode must not depend on the others.
        """
        self.eval()
        batch = self.batch(self.seen(observations))
        size = self.settings.chunk_length * self.action_size
        noise = torch.from_numpy(np.stack([one().standard_normal(size) for one in streams])).float()
        chunks = [
            self.head.sample(self._features(*row), row_noise)
            for row, row_noise in zip(batch.single_rows(), noise.split(1), strict=True)
        ]
        return torch.cat(chunks).view(len(chunks), self.settings.chunk_length, -1).numpy()

    def _features(
        self, inputs: Mapping[str, Tensor], states: Tensor, language: Tensor
    ) -> Float[Tensor, "rows width"]:
        if self.encoders:
            maps = {name: self.encoders[name](pixels) for name, pixels in inputs.items()}
        else:
            maps = {name: one.float() for name, one in inputs.items()}
        features: Tensor = self.trunk(maps, (states - self._centre) / self._scale, language)
        return features

    def _embeddings(self, instructions: Sequence[str]) -> Float[Tensor, "rows language"]:
        for text in instructions:
            if text not in self._embedded:
                self._embedded[text] = torch.from_numpy(self._language.encode([text])[0])
        return torch.stack([self._embedded[text] for text in instructions])
