"""One loss per sample of a LeRobot policy: natively where it has them, else one by one."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

Network: TypeAlias = Any
"""A policy of LeRobot: a torch module with `config`, `name` and its own loss."""


def native_losses(
    network: Network, inputs: Mapping[str, Any], places: Sequence[int], *, seed: int
) -> Float[Tensor, "rows"] | None:
    """Losses of all samples in one pass; None for a policy that has no such way.

    A policy that can be given its noise (SmolVLA) gets that of each sample's place. What others
    draw themselves is noise of the whole batch, from one seed.
    """
    asks = inspect.signature(network.forward).parameters
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if "reduction" in asks:
            is_flow = "noise" in asks and "time" in asks
            given = _flow_noise(network, places, seed=seed) if is_flow else {}
            losses: Tensor = network(dict(inputs), **given, reduction="none")[0]
            return losses.flatten(1).mean(1) if losses.ndim > 1 else losses
        if network.name == "act":
            return _act_losses(network, inputs)
    return None


def losses_one_by_one(
    network: Network, inputs: Mapping[str, Any], places: Iterable[int], *, seed: int
) -> Float[Tensor, "rows"]:
    """LeRobot's loss of each sample alone; its noise depends on its place and on nothing else."""
    found = []
    for row, place in enumerate(places):
        with torch.random.fork_rng():
            torch.manual_seed(_seed_of(place, seed))
            one = single_row(inputs, row)
            is_act = network.name == "act"
            found.append(_act_losses(network, one)[0] if is_act else network(one)[0])
    return torch.stack(found)


def _flow_noise(network: Network, places: Sequence[int], *, seed: int) -> dict[str, Tensor]:
    """Noise and time of flow matching for each sample, as the policy itself draws them."""
    config, device = network.config, next(network.parameters()).device
    noise, times = [], []
    for place in places:
        torch.manual_seed(_seed_of(place, seed))
        shape = (1, config.chunk_size, config.max_action_dim)
        noise.append(network.model.sample_noise(shape, device))
        times.append(network.model.sample_time(1, device))
    return {"noise": torch.cat(noise), "time": torch.cat(times)}


def _seed_of(place: int, seed: int) -> int:
    """A seed that depends on a sample's place in the global batch and on nothing else of it."""
    return (seed + 0x9E3779B97F4A7C15 * place) % (1 << 63)


def single_row(inputs: Mapping[str, Any], row: int) -> dict[str, Any]:
    """One sample of a batch, as a batch of one."""
    return {
        name: value[row : row + 1] if isinstance(value, Tensor | list) else value
        for name, value in inputs.items()
    }


def _act_losses(network: Network, inputs: Mapping[str, Any]) -> Float[Tensor, "rows"]:
    """ACT's own formula before its mean over samples, errors averaged over the valid actions.

    LeRobot 0.4 divides by the whole chunk, 0.6 by the valid part of the whole batch. Outside of
    training there is no posterior, which the `forward` of 0.4 does not expect.
    """
    frames = dict(inputs)
    if network.config.image_features:
        frames["observation.images"] = [frames[name] for name in network.config.image_features]
    actions, (mean, log_variance) = network.model(frames)
    counted = ~frames["action_is_pad"].unsqueeze(-1)
    errors = ((actions - frames["action"]).abs() * counted).flatten(1).sum(1)
    losses: Tensor = errors / (counted.flatten(1).sum(1) * actions.shape[-1]).clamp_min(1)
    if mean is not None and network.config.use_vae:
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(-1)
        losses = losses + network.config.kl_weight * divergence
    return losses
