"""The flow-matching head of QwenGR00T: learns the velocity from noise to action.

Names are those of the published head. Times come from a Beta distribution that prefers noisy
actions; each sample is trained on with several draws of noise. Acting integrates the velocity from
noise in a few Euler steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from phaser.core.streams import Stream
from phaser.policies.parts.diffusion_transformer import Dit
from phaser.policies.parts.row_noise import row_generators
from phaser.policies.parts.sizes import FlowSize

NUM_TIMES = 1000
LATEST = 0.999
BETA = (1.5, 1.0)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FlowNoise:
    """All random numbers of a training step: for each row, `repeats` draws."""

    start: Float[Tensor, "rows repeats chunk action"]
    time: Float[Tensor, "rows repeats"]
    keys: Int[Tensor, "rows repeats 2"]

    @classmethod
    def drawn(
        cls,
        stream: Stream,
        places: Int[np.ndarray, "rows"],
        *,
        repeats: int,
        shape: tuple[int, int],
        device: torch.device,
    ) -> FlowNoise:
        """Noise of each row by its place in the batch of all processes."""
        start, time, keys = [], [], []
        for one in row_generators(stream, places):
            start.append(one.standard_normal((repeats, *shape), np.float32))
            time.append((LATEST - np.minimum(one.beta(*BETA, repeats), LATEST)) / LATEST)
            keys.append(one.integers(0, 2**32, (repeats, 2)))
        return cls(
            start=torch.from_numpy(np.stack(start)).to(device),
            time=torch.from_numpy(np.stack(time).astype(np.float32)).to(device),
            keys=torch.from_numpy(np.stack(keys)).to(device),
        )


class TwoLayers(nn.Module):
    """A linear layer, a ReLU, a linear layer."""

    def __init__(self, *, input_width: int, hidden_width: int, output_width: int) -> None:
        super().__init__()
        self.layer1 = nn.Linear(input_width, hidden_width)
        self.layer2 = nn.Linear(hidden_width, output_width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer2(F.relu(self.layer1(x)))
        return out


class ActionEncoder(nn.Module):
    """Noisy actions and their time to tokens."""

    def __init__(self, action_size: int, width: int) -> None:
        super().__init__()
        self.layer1 = nn.Linear(action_size, width)
        self.layer2 = nn.Linear(2 * width, width)
        self.layer3 = nn.Linear(width, width)

    def forward(
        self, actions: Float[Tensor, "rows chunk action"], time: Int[Tensor, "rows"]
    ) -> Float[Tensor, "rows chunk width"]:
        embedded = self.layer1(actions)
        half = embedded.shape[-1] // 2
        steps = torch.arange(half, dtype=torch.float32, device=time.device)
        angles = time[:, None].float() * torch.exp(-math.log(10000) * steps / half)
        waves = torch.cat([angles.sin(), angles.cos()], dim=-1).to(embedded.dtype)
        joined = torch.cat([embedded, waves[:, None].expand_as(embedded)], dim=-1)
        out: Tensor = self.layer3(F.silu(self.layer2(joined)))
        return out


class FlowHead(nn.Module):
    """Backbone tokens to chunks of actions."""

    def __init__(
        self,
        size: FlowSize,
        *,
        context_width: int,
        action_size: int,
        state_size: int,
        dropout: float,
    ) -> None:
        """Build the head.

        Args:
            size: Widths and depths.
            context_width: Width of the backbone's tokens.
            action_size: Numbers of an action.
            state_size: Numbers of a state; the published head has a state encoder that its LIBERO
                recipe never feeds.
            dropout: Rate inside the transformer, in training.
        """
        super().__init__()
        width = size.dit.width
        self.model = Dit(size.dit, context_width=context_width, dropout=dropout)
        self.state_encoder = TwoLayers(
            input_width=state_size, hidden_width=size.hidden_width, output_width=width
        )
        self.action_encoder = ActionEncoder(action_size, width)
        self.action_decoder = TwoLayers(
            input_width=size.dit.output_width,
            hidden_width=size.hidden_width,
            output_width=action_size,
        )
        self.future_tokens = nn.Embedding(size.num_future_tokens, width)
        self.position_embedding = nn.Embedding(size.max_chunk_length, width)
        nn.init.normal_(self.future_tokens.weight, std=0.02)
        nn.init.normal_(self.position_embedding.weight, std=0.02)

    def losses(
        self,
        context: Float[Tensor, "rows keys context"],
        mask: Bool[Tensor, "rows keys"],
        *,
        actions: Float[Tensor, "rows chunk action"],
        states: Float[Tensor, "rows state"] | None,
        noise: FlowNoise,
    ) -> Float[Tensor, "rows chunk action"]:
        """Squared error of the velocity, averaged over the draws of noise."""
        rows, repeats = noise.time.shape
        target = actions[:, None].expand(-1, repeats, -1, -1)
        time = noise.time[:, :, None, None]
        noisy = (1 - time) * noise.start + time * target
        velocity = self._velocity(
            noisy.flatten(0, 1),
            context.repeat_interleave(repeats, 0),
            mask=mask.repeat_interleave(repeats, 0),
            states=None if states is None else states.repeat_interleave(repeats, 0),
            time=(noise.time.flatten() * NUM_TIMES).long(),
            keys=noise.keys.flatten(0, 1),
        )
        errors = (velocity.unflatten(0, (rows, repeats)) - (target - noise.start)).square()
        return errors.mean(1)

    def sample(
        self,
        context: Float[Tensor, "rows keys context"],
        mask: Bool[Tensor, "rows keys"],
        *,
        start: Float[Tensor, "rows chunk action"],
        states: Float[Tensor, "rows state"] | None,
        num_steps: int,
    ) -> Float[Tensor, "rows chunk action"]:
        """The chunk that this noise becomes."""
        chunk = start
        for step in range(num_steps):
            when = torch.full((len(chunk),), step * NUM_TIMES // num_steps, device=chunk.device)
            velocity = self._velocity(
                chunk, context, mask=mask, states=states, time=when, keys=None
            )
            chunk = chunk + velocity / num_steps
        return chunk

    def _velocity(
        self,
        actions: Tensor,
        context: Tensor,
        *,
        mask: Tensor,
        states: Tensor | None,
        time: Tensor,
        keys: Tensor | None,
    ) -> Tensor:
        places = torch.arange(actions.shape[1], device=actions.device)
        tokens = self.action_encoder(actions, time) + self.position_embedding(places)
        future = self.future_tokens.weight.expand(len(actions), -1, -1)
        before = [] if states is None else [self.state_encoder(states)[:, None]]
        joined = torch.cat([*before, future, tokens], dim=1)
        out = self.action_decoder(self.model(joined, context, time=time, mask=mask, keys=keys))
        velocity: Tensor = out[:, -actions.shape[1] :]
        return velocity
