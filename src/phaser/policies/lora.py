"""LoRA on a frozen base: small trained matrices beside its linear layers (PEFT).

Rank 32 and alpha 16 are the recipe's. Adapters are float32 also on a bfloat16 base: a learning rate
of 1e-4 moves about one in a hundred bfloat16 weights at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phaser.core.errors import MissingDependency
from phaser.core.ranges import COUNT, check_ranges

if TYPE_CHECKING:
    from torch import nn

ADAPTER = "default"
MARK = ".lora_"
"""Part of the name of every adapter weight."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lora:
    """Settings of the adapters. Without dropout: all random numbers of a loss are its row's."""

    rank: int = 32
    """Rank of the trained matrices."""
    alpha: int = 16
    """What the matrices add is multiplied by alpha / rank."""

    def __post_init__(self) -> None:
        check_ranges(self, rank=COUNT, alpha=COUNT)


def linear_layers(base: nn.Module) -> list[str]:
    """Names of all linear layers of a network."""
    from torch import nn

    return [name for name, module in base.named_modules() if isinstance(module, nn.Linear)]


def add_adapters(base: nn.Module, lora: Lora, *, unused: Callable[[str], bool]) -> None:
    """Freeze a base and put an adapter beside each of its linear layers, in place.

    Args:
        base: The network to adapt; it keeps its place in the policy and its names.
        lora: Rank and alpha.
        unused: Says of a layer's name whether no loss depends on it. Such a layer gets no adapter,
            as its weights would never have a gradient.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise MissingDependency(BACKBONES_MISSING) from error
    import torch

    base.requires_grad_(False)
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=0.0,
        init_lora_weights="gaussian",
        target_modules=[name for name in linear_layers(base) if not unused(name)],
    )
    inject_adapter_in_model(config, base, adapter_name=ADAPTER)
    for name, weight in base.named_parameters():
        if MARK in name:
            weight.data = weight.data.to(torch.float32)


def adapted_layers(base: nn.Module) -> Iterator[tuple[str, Any]]:
    """Name and module of each layer with an adapter."""
    for name, module in base.named_modules():
        if hasattr(module, "lora_A") and hasattr(module, "base_layer"):
            yield name, module


@contextmanager
def without_adapters(base: nn.Module) -> Iterator[None]:
    """The frozen base alone, for as long as this lasts."""
    layers = [module for _, module in adapted_layers(base)]
    for one in layers:
        one.enable_adapters(False)
    try:
        yield
    finally:
        for one in layers:
            one.enable_adapters(True)


def merge_adapters(base: nn.Module) -> None:
    """Add the adapters into the base's weights and remove them, in place, for deployment."""
    for name, module in list(adapted_layers(base)):
        module.merge(safe_merge=True)
        parent, _, last = name.rpartition(".")
        setattr(base.get_submodule(parent), last, module.get_base_layer())


BACKBONES_MISSING = "this needs transformers and peft; run: pip install 'phaser-vla[backbones]'"
