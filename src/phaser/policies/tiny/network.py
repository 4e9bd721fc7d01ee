"""The trained part of the tiny policy: language-conditioned read-out of image maps, 0.2 M weights.

Each camera gives one or more maps. A FiLM'd 1x1 convolution turns a map into a few channels; each
channel's spatial softmax says where its feature is (x, y) and how strong. A small MLP joins that
with the robot's state and emits a chunk of actions.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from phaser.policies.row_noise import RowNoise
from phaser.policies.tiny.keypoints import keypoints


class MapReader(nn.Module):
    """Where is it, and how strongly: keypoints of one map, chosen by the instruction.

    FiLM scales and shifts the output of a 1x1 convolution. Scaling its weights instead gives the
    same numbers in one batched product, and is what makes a training step cheap on a CPU.
    """

    def __init__(self, depth: int, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, depth) / depth**0.5)
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(
        self,
        maps: Float[Tensor, "batch depth height width"],
        film: tuple[Float[Tensor, "batch channels"], Float[Tensor, "batch channels"]],
    ) -> Float[Tensor, "batch features"]:
        scale, shift = film
        weight = self.weight * (1 + scale)[..., None]
        bias = (self.bias + shift)[..., None]
        scores = torch.baddbmm(bias, weight, maps.flatten(2))
        return keypoints(scores, height=maps.shape[2], width=maps.shape[3])


class TinyTrunk(nn.Module):
    """Maps, state and instruction to one feature vector."""

    def __init__(
        self,
        *,
        depths: Mapping[str, int],
        channels: int,
        width: int,
        state_size: int,
        language_size: int,
    ) -> None:
        super().__init__()
        self.channels = channels
        self.readers = nn.ModuleDict(
            {name: MapReader(depth, channels) for name, depth in depths.items()}
        )
        self.film = nn.Sequential(
            nn.Linear(language_size, 64),
            nn.ReLU(),
            nn.Linear(64, 2 * channels * len(depths) + 2 * width),
        )
        self.join = nn.Linear(3 * channels * len(depths) + state_size, width)
        self.hidden = nn.Linear(width, width)
        self.width = width

    def forward(
        self, maps: Mapping[str, Tensor], states: Tensor, language: Tensor
    ) -> Float[Tensor, "batch width"]:
        film = self.film(language)
        pieces = film[:, : 2 * self.channels * len(self.readers)].chunk(2 * len(self.readers), 1)
        seen = [
            reader(maps[name], (pieces[2 * k], pieces[2 * k + 1]))
            for k, (name, reader) in enumerate(self.readers.items())
        ]
        scale, shift = film[:, -2 * self.width :].chunk(2, dim=1)
        joined = self.join(torch.cat([*seen, states], dim=1))
        joined = F.relu(joined * (1 + scale) + shift)
        return F.relu(self.hidden(joined))


class RegressionHead(nn.Module):
    """The chunk directly, L1."""

    def __init__(self, width: int, chunk_size: int) -> None:
        super().__init__()
        self.out = nn.Linear(width, chunk_size)

    def losses(self, features: Tensor, actions: Tensor, noise: RowNoise) -> Tensor:
        return (self.out(features) - actions).abs()

    def sample(self, features: Tensor, noise: Tensor) -> Tensor:
        chunk: Tensor = self.out(features)
        return chunk


class FlowHead(nn.Module):
    """Flow matching: learns the velocity from noise to action, integrates it in few Euler steps."""

    num_euler_steps = 5

    def __init__(self, width: int, chunk_size: int) -> None:
        super().__init__()
        self.into = nn.Linear(width + chunk_size + 16, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, chunk_size)

    def losses(self, features: Tensor, actions: Tensor, noise: RowNoise) -> Tensor:
        start = noise.normal(tuple(actions.shape))
        time = noise.uniform((len(actions), 1))
        velocity = self._velocity(features, (1 - time) * start + time * actions, time)
        return (velocity - (actions - start)).square()

    def sample(self, features: Tensor, noise: Tensor) -> Tensor:
        chunk = noise
        for step in range(self.num_euler_steps):
            time = torch.full((len(chunk), 1), step / self.num_euler_steps)
            chunk = chunk + self._velocity(features, chunk, time) / self.num_euler_steps
        return chunk

    def _velocity(self, features: Tensor, chunk: Tensor, time: Tensor) -> Tensor:
        angles = time * (2.0 ** torch.arange(8)) * torch.pi / 2
        joined = torch.cat([features, chunk, angles.sin(), angles.cos()], dim=1)
        velocity: Tensor = self.out(F.relu(self.mid(F.relu(self.into(joined)))))
        return velocity


class PixelMaps(nn.Module):
    """The trained encoder for users who want nothing frozen: 96 pixels to a 12 x 12 map."""

    depth = 48

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=4, padding=2),
            nn.ReLU(),
            nn.Conv2d(24, 48, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(48, self.depth, 3, padding=1),
            nn.ReLU(),
        )

    def forward(self, pixels: Tensor) -> Float[Tensor, "batch depth height width"]:
        scaled = pixels.permute(0, 3, 1, 2).float().div(127.5).sub(1.0)
        maps: Tensor = self.layers(scaled.contiguous(memory_format=torch.channels_last))
        return maps.contiguous()
