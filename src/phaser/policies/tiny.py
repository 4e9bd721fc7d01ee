"""The tiny policy: sees through a frozen encoder, is trained on a CPU in a minute.

`Tiny` is the configuration that builds it. Image maps are frozen, so they are computed once per
recording (`frame_inputs`) and only the read-out is trained; with `train_encoder` the pixels
themselves are the input and a small convolutional network is trained along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from phaser.core.errors import BadInput
from phaser.core.ports import Observation
from phaser.core.streams import Stream
from phaser.encoders.efficientnet import EfficientNetLite0
from phaser.encoders.minilm import MiniLM
from phaser.policies.tiny_network import FlowHead, PixelMaps, RegressionHead, TinyTrunk
from phaser.training.batch import Batch


@dataclass(frozen=True, kw_only=True, slots=True)
class Tiny:
    """Settings of the tiny policy."""

    head: Literal["regression", "flow"] = "regression"
    """"regression": L1 on the chunk. "flow": flow matching, a stochastic policy."""
    train_encoder: bool = False
    """Train a small network from pixels instead of reading frozen EfficientNet maps."""
    fine_cameras: tuple[str, ...] | None = None
    """Cameras whose finer map (stride 8) is read beside the coarser one (stride 16); none: all."""
    chunk_length: int = 8
    channels: int = 24
    width: int = 256

    def __post_init__(self) -> None:
        if self.head not in ("regression", "flow"):
            raise BadInput(f"head {self.head!r}; expected 'regression' or 'flow'")
        if min(self.chunk_length, self.channels, self.width) < 1:
            raise BadInput("chunk_length, channels and width must be at least 1")

    def build(self, contract: Mapping[str, Any], stream: Stream) -> TinyPolicy:
        """A policy with fresh weights for a suite's observations; the stream fixes the weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(stream.integer())
            return TinyPolicy(self, contract)


class TinyPolicy(nn.Module):
    """Call it with a batch for per-sample losses; `act` gives chunks of actions."""

    _centre: Tensor
    _scale: Tensor

    def __init__(self, settings: Tiny, contract: Mapping[str, Any]) -> None:
        super().__init__()
        self.settings = settings
        self.contract = {**contract, "chunk_length": settings.chunk_length, "policy": "tiny"}
        self.cameras: tuple[str, ...] = tuple(contract["cameras"])
        self.action_size = len(contract["action"])
        self._language = MiniLM()
        self._vision = None if settings.train_encoder else EfficientNetLite0()
        self._embedded: dict[str, Tensor] = {}
        if self._vision is None:
            self.encoders = nn.ModuleDict({camera: PixelMaps() for camera in self.cameras})
            depths = dict.fromkeys(self.cameras, PixelMaps.depth)
        else:
            self.encoders = nn.ModuleDict()
            fine, coarse = self._vision.channels
            depths = {f"{camera}_fine": fine for camera in self._fine_cameras()}
            depths |= {f"{camera}_coarse": coarse for camera in self.cameras}
        self.trunk = TinyTrunk(
            depths=depths,
            channels=settings.channels,
            width=settings.width,
            state_size=len(contract["state_centre"]),
            language_size=self._language.width,
        )
        head = RegressionHead if settings.head == "regression" else FlowHead
        self.head = head(settings.width, settings.chunk_length * self.action_size)
        self.register_buffer("_centre", torch.tensor(contract["state_centre"]), persistent=False)
        self.register_buffer("_scale", torch.tensor(contract["state_scale"]), persistent=False)

    @property
    def inputs_identity(self) -> str:
        """Names what `frame_inputs` computes, so that it can be cached."""
        if self._vision is None:
            return "pixels"
        return "-".join([self._vision.identity, "maps-2", *self._fine_cameras()])

    def frame_inputs(self, images: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the trained part reads of each frame: frozen maps, or pixels."""
        if self._vision is None:
            return {camera: images[camera] for camera in self.cameras}
        inputs: dict[str, np.ndarray] = {}
        for camera in self.cameras:
            fine, coarse = self._vision.maps(images[camera])
            if camera in self._fine_cameras():
                inputs[f"{camera}_fine"] = fine.half().contiguous().numpy()
            inputs[f"{camera}_coarse"] = coarse.half().contiguous().numpy()
        return inputs

    def summarise(self, inputs: Mapping[str, np.ndarray]) -> Float[np.ndarray, "frames vision"]:
        """One vector per frame from the frozen encoder, for prototypes: maps' means over space."""
        if self._vision is None:
            pooled = [EfficientNetLite0().pooled(inputs[camera]) for camera in self.cameras]
        else:
            pooled = [rows.mean((2, 3), dtype=np.float32) for rows in inputs.values()]
        return np.concatenate(pooled, axis=1)

    def embed(self, instruction: str) -> Float[np.ndarray, "language"]:
        return self._language.encode([instruction])[0]

    def forward(self, batch: Batch, noise: Stream) -> Float[Tensor, "batch"]:
        """Mean action error of each sample over the valid part of its chunk."""
        generator = torch.Generator().manual_seed(noise.integer())
        features = self._features(batch.inputs, batch.states, batch.language)
        errors = self.head.losses(features, batch.actions.flatten(1), generator)
        valid = batch.valid[..., None].expand_as(batch.actions).flatten(1).float()
        return (errors * valid).sum(1) / valid.sum(1)

    def features(self, batch: Batch) -> Float[Tensor, "batch width"]:
        """What the head reads of each sample."""
        return self._features(batch.inputs, batch.states, batch.language)

    def outputs(self, batch: Batch) -> Float[Tensor, "batch chunk action"]:
        """The chunk for each sample, with gradients; of the flow head the one from zero noise."""
        chunks = self.head.sample(self.features(batch), torch.zeros_like(batch.actions.flatten(1)))
        return chunks.view_as(batch.actions)

    @torch.no_grad()
    def act(
        self, observations: Sequence[Observation], streams: Sequence[Stream]
    ) -> Float[np.ndarray, "batch chunk action"]:
        """A chunk per observation; each stream makes that episode's noise its own.

        The frozen encoder sees all observations together, the trained part one at a time: products
        of matrices round differently with their size, and an episode must not depend on the others.
        """
        self.eval()
        stacked = {
            camera: np.stack([one.images[camera] for one in observations])
            for camera in self.cameras
        }
        inputs = {name: torch.from_numpy(rows) for name, rows in self.frame_inputs(stacked).items()}
        states = torch.from_numpy(np.stack([one.state for one in observations])).float()
        language = torch.stack([self._embedding(one.instruction) for one in observations])
        size = self.settings.chunk_length * self.action_size
        noise = torch.from_numpy(np.stack([one().standard_normal(size) for one in streams])).float()
        chunks = [
            self.head.sample(self._features(*row), row_noise)
            for row, row_noise in zip(_rows(inputs, states, language), noise.split(1), strict=True)
        ]
        return torch.cat(chunks).view(len(chunks), self.settings.chunk_length, -1).numpy()

    def _features(
        self, inputs: Mapping[str, Tensor], states: Tensor, language: Tensor
    ) -> Float[Tensor, "batch width"]:
        if self._vision is None:
            maps = {name: self.encoders[name](pixels) for name, pixels in inputs.items()}
        else:
            maps = {name: one.float() for name, one in inputs.items()}
        features: Tensor = self.trunk(maps, (states - self._centre) / self._scale, language)
        return features

    def _fine_cameras(self) -> tuple[str, ...]:
        if self.settings.fine_cameras is None:
            return self.cameras
        unknown = set(self.settings.fine_cameras) - set(self.cameras)
        if unknown:
            raise BadInput(
                f"fine_cameras names {', '.join(sorted(unknown))}; "
                f"the suite has {', '.join(self.cameras)}"
            )
        return self.settings.fine_cameras

    def _embedding(self, instruction: str) -> Tensor:
        if instruction not in self._embedded:
            self._embedded[instruction] = torch.from_numpy(self.embed(instruction))
        return self._embedded[instruction]


def _rows(
    inputs: Mapping[str, Tensor], states: Tensor, language: Tensor
) -> Iterator[tuple[dict[str, Tensor], Tensor, Tensor]]:
    for row in range(len(states)):
        one = slice(row, row + 1)
        yield {name: maps[one] for name, maps in inputs.items()}, states[one], language[one]
