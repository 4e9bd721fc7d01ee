"""Hashes of frames: they tell if this machine draws what the demonstrations show."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from phaser.core.errors import BadInput
from phaser.demos.lerobot_layout import read_sidecar


def hash_of(images: Mapping[str, UInt8[np.ndarray, "height width 3"]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(images):
        digest.update(f"{name}{images[name].shape}".encode())
        digest.update(np.ascontiguousarray(images[name]).tobytes())
    return digest.hexdigest()


def require_as_recorded(folder: Path, drawn: Callable[[], str]) -> None:
    """Refuse to simulate with other pixels than a recording shows; without one, all is well."""
    sidecar = read_sidecar(folder) if folder.exists() else None
    if sidecar is not None:
        recorded = str(sidecar.recording.get("frame_sha256"))
        require_same_frames(recorded, drawn=drawn(), where=str(folder))


def require_same_frames(recorded: str, *, drawn: str, where: str) -> None:
    """Refuse to evaluate with pixels that differ from those the policy was trained on."""
    if recorded != drawn:
        raise BadInput(
            f"this machine draws another reference frame ({drawn[:12]}) than {where} was recorded "
            f"with ({recorded[:12]}); use the same GL library and mujoco, or record again"
        )
