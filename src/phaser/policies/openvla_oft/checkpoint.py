"""Published OpenVLA checkpoints: which name is which, and the heads beside the base."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json
from phaser.policies.loading.key_map import KeyMap
from phaser.policies.loading.reading import load_strictly
from phaser.policies.loading.writing import write_shards, write_tensors
from phaser.policies.openvla_oft.settings import OpenVlaSize

if TYPE_CHECKING:
    from torch import nn

    from phaser.policies.openvla_oft.policy import OpenVlaOftPolicy

BASE = KeyMap(
    prefixes=(
        ("vision_backbone.", "vision_backbone."),
        ("projector.", "projector."),
        ("language_model.", "language_model."),
    ),
    # SigLIP's pooling layer: features are those of single patches.
    ignored=(r"vision_backbone\.fused_featurizer\.attn_pool\..*",),
)
HEADS = KeyMap(prefixes=(("module.", ""),))
"""Heads were saved out of data parallelism, which puts a word before every name."""


def shape_of(size: OpenVlaSize, folder: Path | None) -> OpenVlaSize:
    """The size with what a checkpoint's config.json says of its language model's norms."""
    path = None if folder is None else folder / "config.json"
    if path is None or not path.is_file():
        return size
    about = read_json(path)
    text = about.get("text_config", {}) if isinstance(about, dict) else {}
    found = text.get("rms_norm_eps", size.language.norm_epsilon) if isinstance(text, dict) else None
    if not isinstance(found, float) or not 0 < found < 1e-2:
        raise BrokenFile(f"{path} has rms_norm_eps {found!r}; expected a small number")
    return replace(size, language=replace(size.language, norm_epsilon=found))


def load_heads(policy: OpenVlaOftPolicy, folder: Path) -> None:
    """Fill the action head and the state's projector from a published folder."""
    for name, module in _heads(policy).items():
        load_strictly(module, [_head_file(folder, name)], HEADS, device="cpu")
        module.float()


def write(policy: OpenVlaOftPolicy, folder: Path) -> None:
    """Write the base as shards and each head as a file of its own."""
    write_shards(folder, policy.vlm.state_dict())
    for name, module in _heads(policy).items():
        weights = {f"module.{key}": one for key, one in module.state_dict().items()}
        write_tensors(folder / f"{name}.safetensors", weights)


def _heads(policy: OpenVlaOftPolicy) -> dict[str, nn.Module]:
    heads = {"action_head": policy.action_head, "proprio_projector": policy.proprio_projector}
    return {name: module for name, module in heads.items() if module is not None}


def _head_file(folder: Path, name: str) -> Path:
    files = sorted(folder.glob(f"{name}*.safetensors"))
    if len(files) == 1:
        return files[0]
    if files:
        raise BadInput(f"{folder} has {len(files)} files {name}*.safetensors; leave the one to use")
    if any(folder.glob(f"{name}*.pt")):
        raise BadInput(
            f"{folder} has its {name} as .pt only, which a run never opens; run: phaser convert "
            f"{folder}"
        )
    raise BadInput(
        f"{folder} has no {name}*.safetensors; expected a checkpoint with heads, or set "
        "weights.head to fresh"
    )
