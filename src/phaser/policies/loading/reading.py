"""Published safetensors into a network, strictly: every weight that is missing, unexpected or of
another shape is named, and nothing is loaded unless all fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json, require_file
from phaser.policies.loading.key_map import KeyMap, listed

INDEX = "model.safetensors.index.json"


def weight_files(folder: Path) -> list[Path]:
    """The weight files of a checkpoint folder: those that its index names, or its single file."""
    index = folder / INDEX
    if index.is_file():
        named = read_json(index).get("weight_map", {}).values()
        files = [folder / Path(str(name)).name for name in sorted(set(named))]
        gone = [path.name for path in files if not path.is_file()]
        if gone or not files:
            raise BadInput(
                f"{folder} lacks {', '.join(gone) or 'weight files'}, which {INDEX} names; "
                "download the rest"
            )
        return files
    for place in (folder, folder / "checkpoints", folder / "final_model"):
        files = sorted(place.glob("*model*.safetensors"))
        if len(files) == 1:
            return files
        if files:
            raise BadInput(
                f"{place} has {len(files)} weight files and no index ({files[0].name} …); leave "
                "the one to use"
            )
    raise BadInput(
        f"{folder} is no checkpoint folder: no *.safetensors in it; {_what_to_do(folder)}"
    )


def load_strictly(
    network: nn.Module,
    files: Sequence[Path],
    keys: KeyMap,
    *,
    device: str,
    dtype: torch.dtype | None = None,
) -> None:
    """Fill a network from files, after all names and shapes were compared.

    Args:
        network: Its weights may be on the meta device; they are replaced.
        files: Safetensors that hold all weights together.
        keys: Published names to the network's.
        device: Where the weights go.
        dtype: Their type; None keeps the files'.
    """
    wanted = {name: tuple(weight.shape) for name, weight in network.state_dict().items()}
    places = _places(files, keys)
    _compare(wanted, {ours: shape for ours, (_, _, shape) in places.items()}, keys, files)
    for path in files:
        part = {}
        with safe_open(path, framework="pt", device=device) as content:
            for ours, (where, published, _) in places.items():
                if where == path and ours in wanted:
                    tensor = content.get_tensor(published)
                    part[ours] = (
                        tensor.to(dtype) if dtype and tensor.is_floating_point() else tensor
                    )
        network.load_state_dict(part, strict=False, assign=True)


Place = tuple[Path, str, tuple[int, ...]]


def _places(files: Sequence[Path], keys: KeyMap) -> dict[str, Place]:
    """Where each of our weights lies: file, name in it, shape."""
    found: dict[str, Place] = {}
    for path in files:
        require_file(path)
        try:
            with safe_open(path, framework="pt") as content:
                for published in content.keys():  # noqa: SIM118 (no mapping)
                    ours = keys.ours(published)
                    if ours is not None:
                        shape = tuple(content.get_slice(published).get_shape())
                        found[ours] = (path, published, shape)
        except (SafetensorError, OSError) as error:
            raise BrokenFile(
                f"{path} is no safetensors file ({error}); download it again"
            ) from error
    return found


def _compare(
    wanted: Mapping[str, tuple[int, ...]],
    found: Mapping[str, tuple[int, ...]],
    keys: KeyMap,
    files: Sequence[Path],
) -> None:
    optional = set(keys.optional)
    missing = wanted.keys() - found.keys() - optional
    unexpected = found.keys() - wanted.keys() - optional
    other = [
        f"{name} {list(found[name])} instead of {list(shape)}"
        for name, shape in wanted.items()
        if name in found and found[name] != shape
    ]
    problems = [
        f"{len(names)} {word}: {text}"
        for word, names, text in (
            ("missing", missing, listed(missing)),
            ("unexpected", unexpected, listed(unexpected)),
            ("of another shape", other, ", ".join(other)),
        )
        if names
    ]
    if problems:
        raise BadInput(
            f"{files[0].parent} does not fit this network: {'; '.join(problems)}; choose the "
            "checkpoint of this backbone and size"
        )


def _what_to_do(folder: Path) -> str:
    if any(folder.rglob("*.pt")):
        return f"it has .pt files, which a run never opens: run phaser convert {folder}"
    return "expected a published model or one written by this program"
