"""Frozen features, computed once per recording and memory-mapped ever after.

One folder per key; one .npy file (float16, never pickled) per array; `index.json`, written last,
lists shape, type and size. A folder without a matching index counts as not there.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json, require_file, write_atomically, write_json
from phaser.core.leases import alone

Features = dict[str, np.ndarray]
FORMAT = "phaser-features-1"
_Entry = dict[str, Any]
"""Shape, type and size of one array's file."""


def cached_features(
    key_parts: Sequence[str], compute: Callable[[], Features], folder: Path
) -> Features:
    """The arrays stored under `key_parts`, read-only and memory-mapped; computed if not there.

    Floating-point arrays are stored as float16; the first call and all later ones return the same.
    Whoever comes while another process computes them waits, and then finds them.
    """
    return _cached(key_parts, lambda place: _store(place, compute()), folder)


def _cached(
    key_parts: Sequence[str], store: Callable[[Path], dict[str, _Entry]], folder: Path
) -> Features:
    place = folder / _key(key_parts)
    stored = _open(place, list(key_parts))
    if stored is not None:
        return stored
    with alone(place.parent, place.name, what="features"):
        stored = _open(place, list(key_parts))
        if stored is None:
            index = {"format": FORMAT, "key": list(key_parts), "arrays": store(place)}
            write_json(place / "index.json", index)
            stored = _open(place, list(key_parts))
    if stored is None:
        raise BrokenFile(f"the features just written to {place} cannot be read; check the disk")
    return stored


def nothing(whole: Features) -> Features:
    """No further arrays."""
    return {}


def cached_rows(
    key_parts: Sequence[str],
    parts: Callable[[], Iterable[Features]],
    *,
    num_rows: int,
    folder: Path,
    derive: Callable[[Features], Features] = nothing,
) -> Features:
    """As `cached_features`, for rows that come part by part: one part is held at a time.

    parts: gives the arrays of some rows after the other, all with the same names.
    num_rows: how many rows all parts have together.
    derive: makes further arrays of the whole ones, which it is given memory-mapped.
    """
    return _cached(key_parts, lambda place: _store_rows(place, parts(), num_rows, derive), folder)


def _key(key_parts: Sequence[str]) -> str:
    if not key_parts:
        raise BadInput("a feature cache key needs at least one part: the encoder's identity")
    digest = hashlib.sha256()
    for part in key_parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


def _store(place: Path, features: Features) -> dict[str, _Entry]:
    entries: dict[str, _Entry] = {}
    for name, value in features.items():
        half = _to_half(name, value)
        write_atomically(_file(place, name), partial(_save, half))
        entries[name] = _entry(place, name, half)
    return entries


def _store_rows(
    place: Path,
    parts: Iterable[Features],
    num_rows: int,
    derive: Callable[[Features], Features],
) -> dict[str, _Entry]:
    """Fill one file per array, row by row; they get their names when all rows are there."""
    rest = iter(parts)
    first = {name: _to_half(name, value) for name, value in next(rest).items()}
    mapped: dict[str, np.memmap[Any, Any]] = {}

    def fill() -> None:
        start = 0
        for part in chain([first], rest):
            end = start + len(next(iter(part.values())))
            for name, rows in part.items():
                mapped[name][start:end] = _to_half(name, rows)
            start = end
        if start != num_rows:
            raise BadInput(f"{start} rows of features for {num_rows} frames")

    def write(names: Sequence[str]) -> None:
        if not names:
            return fill()
        name, *others = names
        shape = (num_rows, *first[name].shape[1:])

        def into(temporary: Path) -> None:
            mapped[name] = np.lib.format.open_memmap(
                temporary, mode="w+", dtype=first[name].dtype, shape=shape
            )
            write(others)
            mapped.pop(name).flush()

        write_atomically(_file(place, name), into)

    write(list(first))
    whole = {name: np.load(_file(place, name), mmap_mode="r", allow_pickle=False) for name in first}
    return {name: _entry(place, name, rows) for name, rows in whole.items()} | _store(
        place, derive(whole)
    )


def _file(place: Path, name: str) -> Path:
    if not name.isidentifier():
        raise BadInput(f"feature name {name!r} must be an identifier, as it names a file")
    return place / f"{name}.npy"


def _entry(place: Path, name: str, rows: np.ndarray) -> _Entry:
    size = _file(place, name).stat().st_size
    return {"shape": list(rows.shape), "dtype": rows.dtype.str, "size": size}


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
    if not name.isidentifier() or require_file(path).st_size != entry["size"]:
        raise ValueError(f"{path} does not fit its index")
    if math.prod(entry["shape"]) == 0:  # an empty file cannot be mapped
        return np.zeros(entry["shape"], entry["dtype"])
    mapped: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    if list(mapped.shape) != entry["shape"] or mapped.dtype.str != entry["dtype"]:
        raise ValueError(f"{path} does not fit its index")
    return mapped
