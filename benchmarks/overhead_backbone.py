"""A stand-in for the real backbones, at any size, with all that methods ask of a policy.

At a tiny size it is trained like any policy; at a real size it lives on torch's meta device, where
operations are counted and nothing is computed. Norms and activations are simplified.
"""

from functools import cache
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.bare_policy import BarePolicy
from benchmarks.overhead_shapes import Blocks, Shape
from phaser.core.streams import Stream
from phaser.encoders.minilm import MiniLM
from phaser.policies.tiny.policy import TinyBatch


class Adapted(nn.Module):
    """A frozen linear layer beside a trained one of low rank."""

    def __init__(self, inputs: int, outputs: int, rank: int) -> None:
        super().__init__()
        self.frozen = nn.Linear(inputs, outputs, bias=False).requires_grad_(False)
        self.down = nn.Linear(inputs, rank, bias=False)
        self.up = nn.Linear(rank, outputs, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        return self.frozen(values) + self.up(self.down(values))


def linear(inputs: int, outputs: int, rank: int | None) -> nn.Module:
    """Trained whole where there is no rank."""
    return nn.Linear(inputs, outputs) if rank is None else Adapted(inputs, outputs, rank)


class Attention(nn.Module):
    """Of tokens to themselves, or to tokens of another width."""

    def __init__(self, blocks: Blocks, rank: int | None, *, seen: int | None = None) -> None:
        super().__init__()
        self.size = blocks.width // blocks.heads
        shared = self.size * (blocks.key_heads or blocks.heads)
        self.queries = linear(blocks.width, blocks.width, rank)
        self.keys = linear(seen or blocks.width, shared, rank)
        self.values = linear(seen or blocks.width, shared, rank)
        self.out = linear(blocks.width, blocks.width, rank)

    def forward(self, tokens: Tensor, seen: Tensor) -> Tensor:
        queries = self._heads(self.queries(tokens))
        keys, values = self._heads(self.keys(seen)), self._heads(self.values(seen))
        times = queries.shape[1] // keys.shape[1]
        keys, values = (one.repeat_interleave(times, 1) for one in (keys, values))
        weights = torch.softmax(queries @ keys.transpose(2, 3) / self.size**0.5, dim=3)
        return self.out((weights @ values).transpose(1, 2).flatten(2))

    def _heads(self, tokens: Tensor) -> Tensor:
        return tokens.unflatten(2, (-1, self.size)).transpose(1, 2)


class Block(nn.Module):
    """Attention and a network of two layers, or three where it is gated."""

    def __init__(self, blocks: Blocks, rank: int | None, *, seen: int | None = None) -> None:
        super().__init__()
        self.attention = Attention(blocks, rank, seen=seen)
        self.into = linear(blocks.width, blocks.mlp, rank)
        self.gate = linear(blocks.width, blocks.mlp, rank) if blocks.gated else None
        self.out = linear(blocks.mlp, blocks.width, rank)

    def forward(self, tokens: Tensor, seen: Tensor | None = None) -> Tensor:
        normed = F.layer_norm(tokens, tokens.shape[2:])
        tokens = tokens + self.attention(normed, normed if seen is None else seen)
        normed = F.layer_norm(tokens, tokens.shape[2:])
        wide = F.gelu(self.into(normed))
        return tokens + self.out(wide if self.gate is None else wide * self.gate(normed))


class RegressionHead(nn.Module):
    """L1 on the chunk, read from the action slots (OpenVLA-OFT, QwenOFT)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.chunk_length = shape.chunk_length
        read = shape.slots // shape.chunk_length * shape.language.width
        self.into = nn.Linear(read, shape.head_width)
        self.middle = nn.ModuleList(nn.Linear(shape.head_width, shape.head_width) for _ in range(2))
        self.out = nn.Linear(shape.head_width, shape.action_size)

    def errors(self, hidden: Tensor, actions: Tensor, noise: Stream) -> Tensor:
        return (self.sample(hidden, actions) - actions).abs()

    def sample(self, hidden: Tensor, like: Tensor) -> Tensor:
        value = F.relu(self.into(hidden.reshape(len(hidden), self.chunk_length, -1)))
        for layer in self.middle:
            value = value + F.relu(layer(F.layer_norm(value, value.shape[2:])))
        return self.out(value)


class FlowHead(nn.Module):
    """Velocity from noise to actions, by blocks that look at the language model's tokens in turn
    with themselves (QwenGR00T)."""

    def __init__(self, shape: Shape, flow: Blocks) -> None:
        super().__init__()
        self.shape, width = shape, flow.width
        self.action = nn.Linear(shape.action_size, width)
        self.moment = nn.Linear(2 * width, width)
        self.joined = nn.Linear(width, width)
        self.future = nn.Parameter(torch.randn(1, shape.future_tokens, width) / width**0.5)
        self.blocks = nn.ModuleList(
            Block(flow, None, seen=None if number % 2 else shape.language.width)
            for number in range(flow.depth)
        )
        # Each block is scaled and shifted by the time, as is what comes out at the end.
        self.scales = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(flow.depth + 1))
        self.wide = nn.Linear(width, shape.head_width)
        self.mixed = nn.Linear(shape.head_width, shape.head_width)
        self.out = nn.Linear(shape.head_width, shape.action_size)

    def errors(self, hidden: Tensor, actions: Tensor, noise: Stream) -> Tensor:
        times = self.shape.repeats
        hidden, targets = hidden.repeat(times, 1, 1), actions.repeat(times, 1, 1)
        generator = torch.Generator().manual_seed(noise.integer())
        start = torch.randn(targets.shape, generator=generator).to(targets.device)
        time = torch.rand((len(targets), 1, 1), generator=generator).to(targets.device)
        velocity = self._velocity(hidden, (1 - time) * start + time * targets, time)
        errors = (velocity - (targets - start)).square()
        return errors.unflatten(0, (times, -1)).mean(0)

    def sample(self, hidden: Tensor, like: Tensor) -> Tensor:
        chunk, steps = torch.zeros_like(like), self.shape.euler_steps
        for step in range(steps):
            time = torch.full((len(like), 1, 1), step / steps, device=like.device)
            chunk = chunk + self._velocity(hidden, chunk, time) / steps
        return chunk

    def _velocity(self, hidden: Tensor, chunk: Tensor, time: Tensor) -> Tensor:
        half = torch.arange(self.joined.in_features // 2, device=chunk.device)
        angles = 1000 * time / 10000 ** (half / len(half))
        when = torch.cat([angles.sin(), angles.cos()], dim=2)
        known = self.moment(
            torch.cat([self.action(chunk), when.expand(-1, chunk.shape[1], -1)], dim=2)
        )
        tokens = torch.cat([self.future.expand(len(chunk), -1, -1), self.joined(F.silu(known))], 1)
        for number, block in enumerate(self.blocks):
            scale, shift = self.scales[number](when).chunk(2, dim=2)
            tokens = block(tokens * (1 + scale) + shift, None if number % 2 else hidden)
        scale, shift = self.scales[-1](when).chunk(2, dim=2)
        tokens = (tokens * (1 + scale) + shift)[:, -chunk.shape[1] :]
        return self.out(F.relu(self.mixed(self.wide(tokens))))


class Backbone(BarePolicy):
    """Call it with a batch for per-sample losses, as the learner does with any policy."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape, rank, width = shape, shape.rank, shape.language.width
        self.embeds = nn.ModuleList(
            linear(shape.patch_size, tower.width, rank).requires_grad_(False)
            for tower in shape.towers
        )
        self.towers = nn.ModuleList(
            nn.ModuleList(Block(tower, rank) for _ in range(tower.depth)) for tower in shape.towers
        )
        seen = shape.merged * sum(tower.width for tower in shape.towers)
        widths = [seen, *shape.projector, width]
        self.projector = nn.ModuleList(linear(*pair, rank) for pair in pairwise(widths))
        self.reading = nn.Linear(shape.text_size, width).requires_grad_(False)
        self.state = (
            nn.Sequential(nn.Linear(shape.state_size, width), nn.GELU(), nn.Linear(width, width))
            if shape.state_size
            else None
        )
        self.places = nn.Parameter(torch.randn(1, shape.slots, width), requires_grad=False)
        self.language = nn.ModuleList(
            Block(shape.language, rank) for _ in range(shape.language.depth)
        )
        self.head = RegressionHead(shape) if shape.flow is None else FlowHead(shape, shape.flow)

    def words(self, instruction: str) -> Tensor:
        return _embedded(instruction)

    def forward(self, batch: TinyBatch, noise: Stream) -> Tensor:
        """Mean action error of each sample over the valid part of its chunk."""
        errors = self.head.errors(self._hidden(batch), batch.actions, noise).mean(2)
        return (errors * batch.valid).sum(1) / batch.valid.sum(1)

    def features(self, batch: TinyBatch) -> Tensor:
        """What the head reads of each sample."""
        return self._hidden(batch).flatten(1)

    def outputs(self, batch: TinyBatch) -> Tensor:
        """The chunk for each sample, with gradients; of the flow head the one from zero noise."""
        return self.head.sample(self._hidden(batch), batch.actions)

    def _hidden(self, batch: TinyBatch) -> Tensor:
        size = len(batch.actions)
        parts = [self._seen(batch), self._words(batch)]
        if self.state is not None:
            parts.insert(1, self.state(batch.states)[:, None])
        parts.append(self.places.expand(size, -1, -1))
        tokens = torch.cat(parts, dim=1)
        for block in self.language:
            tokens = block(tokens)
        return tokens[:, -self.shape.slots :] if self.shape.slots else tokens

    def _words(self, batch: TinyBatch) -> Tensor:
        return self.reading(batch.language.unflatten(1, (-1, self.shape.text_size)))

    def _seen(self, batch: TinyBatch) -> Tensor:
        """Tokens of all cameras, one camera after the other."""
        maps = [batch.inputs[f"{camera}_coarse"] for camera in self.shape.cameras]
        patches = torch.stack(maps, 1).flatten(0, 1).flatten(2).transpose(1, 2).float()
        found = []
        for embed, tower in zip(self.embeds, self.towers, strict=True):
            tokens = embed(patches)
            for block in tower:
                tokens = block(tokens)
            found.append(tokens)
        tokens = torch.cat(found, 2).reshape(len(patches), -1, self.projector_inputs)
        for number, layer in enumerate(self.projector):
            tokens = layer(F.gelu(tokens) if number else tokens)
        return tokens.reshape(len(batch.actions), -1, tokens.shape[2])

    @property
    def projector_inputs(self) -> int:
        return self.shape.merged * sum(tower.width for tower in self.shape.towers)


@cache
def _embedded(instruction: str) -> Tensor:
    return torch.from_numpy(MiniLM().encode([instruction])[0])
