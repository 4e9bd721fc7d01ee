"""Adapters, head, statistics and observation contract of a policy in one folder.

`adapter.safetensors` and `head.safetensors` hold the trained weights, `adapter.json` the contract
with its statistics and the files' hashes. It is written last: a folder with it is complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load as parsed
from safetensors.torch import save_file

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_bytes, read_json, sha256, write_atomically, write_json
from phaser.policies.lora import MARK

if TYPE_CHECKING:
    from torch import Tensor

    from phaser.policies.parts.backbone import BackbonePolicy

FORMAT = {"format": "phaser-adapter", "version": 1}
ABOUT, ADAPTER, HEAD = "adapter.json", "adapter.safetensors", "head.safetensors"


def save(policy: BackbonePolicy, folder: Path) -> None:
    """Write a policy's trained weights and what they mean.

    Args:
        policy: Its `trained_state` and `contract` are written.
        folder: Made if need be; files of an earlier save are replaced.
    """
    weights = policy.trained_state()
    files = {
        ADAPTER: {name: one for name, one in weights.items() if MARK in name},
        HEAD: {name: one for name, one in weights.items() if MARK not in name},
    }
    for name, part in files.items():
        _write(folder / name, part)
    about = {
        **FORMAT,
        "policy": policy.name,
        "contract": policy.contract,
        "sha256": {name: sha256(folder / name) for name in files},
    }
    write_json(folder / ABOUT, about)


def load(policy: BackbonePolicy, folder: Path) -> None:
    """Fill a policy from a folder, after its hashes and its contract were compared.

    Args:
        policy: Built with the same settings, for the same suite.
        folder: Written by `save`.
    """
    about = _about(folder)
    _require_same_contract(about["contract"], policy.contract, folder)
    weights: dict[str, Tensor] = {}
    for name in (ADAPTER, HEAD):
        weights |= _read(folder / name, str(about["sha256"].get(name, "")))
    policy.load_trained_state(weights)


def _about(folder: Path) -> dict[str, Any]:
    if not (folder / ABOUT).is_file():
        raise BadInput(
            f"{folder} has no {ABOUT}; expected a folder that save_adapter wrote to its end"
        )
    about = read_json(folder / ABOUT)
    named = isinstance(about, dict) and {key: about.get(key) for key in FORMAT} == FORMAT
    if not named or not isinstance(about.get("sha256"), dict):
        raise BrokenFile(f"{folder / ABOUT} is no adapter of this version; save it again")
    if not isinstance(about.get("contract"), dict):
        raise BrokenFile(f"{folder / ABOUT} has no contract; save it again")
    return about


def _require_same_contract(
    found: Mapping[str, Any], expected: Mapping[str, Any], folder: Path
) -> None:
    """The first field that differs, in one line."""
    for name in sorted({*found, *expected}):
        if found.get(name) != expected.get(name):
            raise BadInput(
                f"{folder} was trained with {name} {_short(found.get(name))}, this policy has "
                f"{_short(expected.get(name))}; build the policy with the settings and the suite "
                "of its training"
            )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 160 else f"{text[:157]}…"


def _write(path: Path, weights: Mapping[str, Tensor]) -> None:
    content = {name: one.contiguous() for name, one in weights.items()}
    write_atomically(path, lambda temporary: save_file(content, temporary))


def _read(path: Path, expected: str) -> dict[str, Tensor]:
    if not path.is_file():
        raise BrokenFile(f"{path} is gone; restore it, or save the adapter again")
    if sha256(path) != expected:
        raise BrokenFile(f"{path} is damaged: its SHA-256 is not that of {ABOUT}; restore it")
    try:
        found: dict[str, Tensor] = parsed(read_bytes(path))
    except SafetensorError as error:
        raise BrokenFile(f"{path} is no safetensors file ({error}); save it again") from error
    return found
