"""A LeRobot policy behind our port: its processors inside, one loss per sample, whole chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from phaser.core.contract import Contract
from phaser.core.policy import Observation, ParameterGroup
from phaser.core.samples import Samples
from phaser.core.streams import Stream
from phaser.policies.lerobot.losses import Network, losses_one_by_one, native_losses
from phaser.policies.module_policy import ModulePolicy

LANGUAGE = "observation.language"
LANGUAGE_WIDTH = 384
"""Numbers of an instruction's MiniLM vector."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Parts:
    """All that LeRobot gives: the network, its processors, and words about them."""

    network: Network
    before: Callable[[dict[str, Any]], dict[str, Any]]
    """Normalises and tokenises a batch."""
    after: Callable[[Tensor], Tensor]
    """Brings actions back into the suite's units."""
    embeds: bool
    """True where the instruction is read as the environment's state."""
    described: Mapping[str, Any]
    normalised_by: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LeRobotBatch:
    """Samples as LeRobot's network takes them."""

    inputs: dict[str, Any]
    num_rows: int
    places: np.ndarray | None

    def __len__(self) -> int:
        return self.num_rows


class LeRobotPolicy(ModulePolicy):
    """The policy (`core.policy.Policy`)."""

    def __init__(self, parts: Parts, contract: Contract, *, chunk_length: int, losses: str) -> None:
        super().__init__(contract, name="lerobot", chunk_length=chunk_length)
        self.contract["lerobot"] = dict(parts.described)
        self.contract["normalised_by"] = dict(parts.normalised_by)
        self.network: Network = parts.network
        self._before, self._after, self._embeds = parts.before, parts.after, parts.embeds
        self._losses = losses
        self._embedded: dict[str, Tensor] = {}
        self._language: Any = None

    def batch(self, samples: Samples, *, augment: Stream | None = None) -> LeRobotBatch:
        """Samples through LeRobot's own processors; augmentation is left to LeRobot's loaders."""
        frames: dict[str, Any] = {
            f"observation.images.{name}": _pixels(rows) for name, rows in samples.images.items()
        }
        frames["observation.state"] = torch.from_numpy(samples.states).float()
        frames["task"] = list(samples.instructions)
        if self._embeds:
            frames["observation.environment_state"] = self._embeddings(samples.instructions)
        if samples.actions.shape[1]:
            padded = torch.from_numpy(~samples.valid)
            frames["action"] = torch.from_numpy(samples.actions).float()
            frames["action_is_pad"] = padded
        inputs = self._before(frames)
        if samples.actions.shape[1]:
            # SmolVLA looks for the padding under a name of its own.
            inputs["actions_id_pad"] = inputs["action_is_pad"]
            if self.network.config.observation_delta_indices is not None:
                # Where a policy reads several frames, LeRobot's loader gives them a dimension.
                inputs |= {name: value.unsqueeze(1) for name, value in _observed(inputs)}
        device = next(self.network.parameters()).device
        return LeRobotBatch(
            inputs={name: _on(device, value) for name, value in inputs.items()},
            num_rows=len(samples),
            places=samples.places,
        )

    def forward(self, batch: LeRobotBatch, noise: Stream) -> Float[Tensor, "rows"]:
        """LeRobot's loss of each sample; its noise follows from the stream."""
        places = list(range(len(batch))) if batch.places is None else batch.places.tolist()
        if self._losses == "native":
            found = native_losses(self.network, batch.inputs, places, seed=noise.integer())
            if found is not None:
                return found
        return losses_one_by_one(self.network, batch.inputs, places, seed=noise.integer())

    @torch.no_grad()
    def act(
        self, observations: Sequence[Observation], streams: Sequence[Stream]
    ) -> Float[np.ndarray, "count chunk action"]:
        """A chunk per observation, one observation at a time: none depends on the others."""
        self.eval()
        chunks = []
        for seen, stream in zip(observations, streams, strict=True):
            inputs = self.batch(self.seen([seen])).inputs
            with torch.random.fork_rng():
                torch.manual_seed(stream.integer())
                self.network.reset()
                actions = [
                    self._after(self.network.select_action(dict(inputs)))
                    for _ in range(int(self.contract["chunk_length"]))
                ]
            chunks.append(torch.stack(actions, dim=1))
        return torch.cat(chunks).float().cpu().numpy()

    def parameter_groups(self) -> list[ParameterGroup]:
        """LeRobot's own groups, learning rates relative to its own, weight decay and momenta."""
        preset = self.network.config.get_optimizer_preset()
        given = self.network.get_optim_params()
        groups = given if isinstance(given, list) and isinstance(given[0], dict) else [given]
        found = []
        for one in groups:
            weights = one["params"] if isinstance(one, dict) else one
            named = one if isinstance(one, dict) else {}
            trained = [weight for weight in weights if weight.requires_grad]
            if trained:
                found.append(
                    ParameterGroup(
                        parameters=trained,
                        learning_rate_scale=named.get("lr", preset.lr) / preset.lr,
                        weight_decay=preset.weight_decay,
                        betas=tuple(getattr(preset, "betas", (0.9, 0.999))),
                    )
                )
        return found

    def _embeddings(self, instructions: Sequence[str]) -> Float[Tensor, "rows language"]:
        if self._language is None:
            # Most policies read the words themselves and never need this encoder.
            from phaser.encoders.minilm import MiniLM

            self._language = MiniLM()
        for text in instructions:
            if text not in self._embedded:
                self._embedded[text] = torch.from_numpy(self._language.encode([text])[0])
        return torch.stack([self._embedded[text] for text in instructions])


def _observed(inputs: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Images and numbers of a frame; words of its task come from a processor, not from a loader."""
    for name, value in inputs.items():
        is_seen = name.startswith("observation.") and not name.startswith(LANGUAGE)
        if is_seen and isinstance(value, Tensor):
            yield name, value


def _pixels(rows: np.ndarray) -> Float[Tensor, "rows 3 height width"]:
    """Images as LeRobot's datasets give them: colours first, between 0 and 1."""
    return torch.from_numpy(rows).permute(0, 3, 1, 2).float().div(255)


def _on(device: torch.device, value: Any) -> Any:
    return value.to(device) if isinstance(value, Tensor) else value
