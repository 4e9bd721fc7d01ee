"""Weights in the published layout: shards with an index, statistics, contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor

from phaser.core.contract import Contract
from phaser.core.files import write_atomically, write_json
from phaser.policies.loading.reading import INDEX
from phaser.policies.parts.statistics_file import FILE_NAME

MAX_SHARD_BYTES = 4 * 10**9
CONTRACT = "phaser_contract.json"


def write_shards(
    folder: Path, weights: Mapping[str, Tensor], *, max_bytes: int = MAX_SHARD_BYTES
) -> None:
    """Write weights as one file, or as several with an index where they are large.

    Args:
        folder: Made if need be.
        weights: By published name; no two may share memory.
        max_bytes: Size of a file beyond which the next one begins.
    """
    shards: list[dict[str, Tensor]] = [{}]
    filled = 0
    for name, weight in weights.items():
        if filled and filled + weight.nbytes > max_bytes:
            shards.append({})
            filled = 0
        shards[-1][name] = weight.detach().contiguous()
        filled += weight.nbytes
    if len(shards) == 1:
        write_tensors(folder / "model.safetensors", shards[0])
        return
    where: dict[str, str] = {}
    for number, shard in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        write_tensors(folder / file, shard)
        where |= dict.fromkeys(shard, file)
    total = sum(weight.nbytes for weight in weights.values())
    write_json(folder / INDEX, {"metadata": {"total_size": total}, "weight_map": where})


def write_tensors(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Write weights to one safetensors file."""
    content = {name: weight.detach().contiguous() for name, weight in weights.items()}
    write_atomically(path, lambda temporary: save_file(content, temporary, {"format": "pt"}))


def write_meaning(folder: Path, contract: Mapping[str, Any], suite: Contract) -> None:
    """Write the contract, and the statistics as published checkpoints have them.

    Args:
        folder: Where the weights are.
        contract: The policy's own.
        suite: Has the statistics that the policy scales by, if it does.
    """
    write_json(folder / CONTRACT, contract)
    if suite.action_statistics is None:
        return
    gripper = suite.layout.gripper
    mask = [k not in gripper for k in range(len(suite.action))]
    entry: dict[str, Any] = {"action": {**asdict(suite.action_statistics), "mask": mask}}
    if suite.state_statistics is not None:
        entry["proprio"] = asdict(suite.state_statistics)
    write_json(folder / FILE_NAME, {suite.suite: entry})
