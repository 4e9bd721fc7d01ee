"""Frozen features, computed once per recording and memory-mapped ever after.

One folder per key; one .npy file (float16, never pickled) per array; `index.json`, written last,
lists shape, type and size. A folder without a matching index counts as not there.
"""

from __future__ import annotations

import fcntl
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json, write_atomically, write_json, writing

Features = dict[str, np.ndarray]
FORMAT = "phaser-features-1"


def cached_features(
    key_parts: Sequence[str], compute: Callable[[], Features], folder: Path
) -> Features:
    """The arrays stored under `key_parts`, read-only and memory-mapped; computed if not there.

    Floating-point arrays are stored as float16; the first call and all later ones return the same.
    Whoever comes while another process computes them waits, and then finds them.
    """
    place = folder / _key(key_parts)
    stored = _open(place, list(key_parts))
    if stored is not None:
        return stored
    with _alone(place):
        stored = _open(place, list(key_parts))
        if stored is None:
            _store(place, list(key_parts), compute())
            stored = _open(place, list(key_parts))
    if stored is None:
        raise BrokenFile(f"the features just written to {place} cannot be read; check the disk")
    return stored


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    path = place.with_name(f".{place.name}.lock")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("w")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _key(key_parts: Sequence[str]) -> str:
    if not key_parts:
        raise BadInput("a feature cache key needs at least one part: the encoder's identity")
    digest = hashlib.sha256()
    for part in key_parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


def _store(place: Path, key_parts: list[str], features: Features) -> None:
    arrays: dict[str, dict[str, Any]] = {}
    for name, value in features.items():
        if not name.isidentifier():
            raise BadInput(f"feature name {name!r} must be an identifier, as it names a file")
        half = _to_half(name, value)
        path = place / f"{name}.npy"
        write_atomically(path, partial(_save, half))
        arrays[name] = {
            "shape": list(half.shape),
            "dtype": half.dtype.str,
            "size": path.stat().st_size,
        }
    write_json(place / "index.json", {"format": FORMAT, "key": key_parts, "arrays": arrays})


def _to_half(name: str, value: np.ndarray) -> np.ndarray:
    if value.dtype.hasobject:
        raise BadInput(f"feature {name!r} holds Python objects; expected numbers")
    if not np.issubdtype(value.dtype, np.floating):
        return value
    with np.errstate(over="ignore"):  # an overflow is refused below, with the name
        half = value.astype(np.float16)
    if not np.isfinite(half).all():
        raise BadInput(f"feature {name!r} has values that float16 cannot hold; rescale it")
    return half


def _save(value: np.ndarray, path: Path) -> None:
    with path.open("wb") as stream:
        np.save(stream, value, allow_pickle=False)


def _open(place: Path, key_parts: list[str]) -> Features | None:
    """The stored arrays, or None where anything is missing or does not fit its index."""
    try:
        index = read_json(place / "index.json")
        if index["format"] != FORMAT or index["key"] != key_parts:
            return None
        opened = {name: _map(place, name, entry) for name, entry in index["arrays"].items()}
    except (BrokenFile, KeyError, TypeError, ValueError, AttributeError, OSError):
        return None
    return opened


def _map(place: Path, name: str, entry: dict[str, Any]) -> np.ndarray:
    path = place / f"{name}.npy"
    if not name.isidentifier() or path.stat().st_size != entry["size"]:
        raise ValueError(f"{path} does not fit its index")
    if math.prod(entry["shape"]) == 0:  # an empty file cannot be mapped
        return np.zeros(entry["shape"], entry["dtype"])
    mapped: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    if list(mapped.shape) != entry["shape"] or mapped.dtype.str != entry["dtype"]:
        raise ValueError(f"{path} does not fit its index")
    return mapped
