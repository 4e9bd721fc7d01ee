"""A contract's statistics in the form in which LeRobot's processors normalise by them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch

from phaser.core.contract import Contract, Statistics

PIXEL_MEAN, PIXEL_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet, by which LeRobot's training normalises images."""


def dataset_statistics(contract: Contract) -> dict[str, dict[str, torch.Tensor]]:
    """By feature the statistics that are fixed for the run.

    Where the suite knows none, states are centred and scaled as its contract says, and actions are
    taken as they are, between -1 and 1.
    """
    state = contract.state_statistics or _centred(contract)
    action = contract.action_statistics or _as_they_are(len(contract.action))
    pixels = {
        "mean": torch.tensor(PIXEL_MEAN).view(3, 1, 1),
        "std": torch.tensor(PIXEL_STD).view(3, 1, 1),
        "min": torch.zeros(3, 1, 1),
        "max": torch.ones(3, 1, 1),
    }
    found = {f"observation.images.{camera}": pixels for camera in contract.cameras}
    return {**found, "observation.state": _tensors(state), "action": _tensors(action)}


def as_json(statistics: dict[str, dict[str, torch.Tensor]]) -> dict[str, Any]:
    """Statistics as lists of numbers, for the contract."""
    return {
        feature: {name: values.flatten().tolist() for name, values in part.items()}
        for feature, part in statistics.items()
    }


def _tensors(found: Statistics) -> dict[str, torch.Tensor]:
    """Divisors that never are 0: a number that never changes has deviation and range 1."""
    values = {name: torch.tensor(part) for name, part in asdict(found).items()}
    values["std"] = torch.tensor(found.scale)
    for low, high in (("min", "max"), ("q01", "q99")):
        constant = values[high] - values[low] <= 0
        values[high] = torch.where(constant, values[low] + 1, values[high])
    return values


def _centred(contract: Contract) -> Statistics:
    pairs = list(zip(contract.state_centre, contract.state_scale, strict=True))
    low = tuple(centre - scale for centre, scale in pairs)
    high = tuple(centre + scale for centre, scale in pairs)
    return Statistics(
        mean=contract.state_centre,
        std=contract.state_scale,
        min=low,
        max=high,
        q01=low,
        q99=high,
    )


def _as_they_are(size: int) -> Statistics:
    zero, one, minus = (0.0,) * size, (1.0,) * size, (-1.0,) * size
    return Statistics(mean=zero, std=one, min=minus, max=one, q01=minus, q99=one)
