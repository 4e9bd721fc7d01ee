"""Rehearsed samples take the place of the last ones of a batch; its size and form stay."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phaser.core.errors import BadInput
from phaser.replay.tensors import is_tensor, join


def num_rehearsed(batch_size: int, share: float) -> int:
    """How many of a batch make way; at least one current sample stays."""
    return min(round(batch_size * share), batch_size - 1)


def batch_size(batch: Any) -> int:
    """Samples in a batch: a list of samples, or what a collate function made of them."""
    size = _size(batch)
    if not size:
        raise BadInput(
            f"no batch dimension found in a batch of type {type(batch).__name__}; expected a list "
            "of samples, or a dict, list or tuple of tensors"
        )
    return size


def mixed(batch: Any, rehearsed: Any, *, size: int, count: int, where: str = "batch") -> Any:
    """The batch of `size` with its last `count` samples replaced; both have the same form.

    Since `count` is below `size`, a list is the batch itself where the lengths are those two, and
    part of the form where the lengths are equal.
    """
    stay = size - count
    if is_tensor(batch) and is_tensor(rehearsed):
        return _joined_arrays(batch, rehearsed, size, count, where)
    if isinstance(batch, np.ndarray) and isinstance(rehearsed, np.ndarray):
        return _joined_arrays(batch, rehearsed, size, count, where)
    if isinstance(batch, Mapping) and isinstance(rehearsed, Mapping):
        return _mixed_mapping(batch, rehearsed, size, count, where)
    if isinstance(batch, list | tuple) and isinstance(rehearsed, list | tuple):
        if len(batch) == len(rehearsed):
            return _of_type(
                batch,
                [
                    mixed(one, other, size=size, count=count, where=f"{where}[{at}]")
                    for at, (one, other) in enumerate(zip(batch, rehearsed, strict=True))
                ],
            )
        if (len(batch), len(rehearsed)) == (size, count):
            return _of_type(batch, [*batch[:stay], *rehearsed])
    elif type(batch) is type(rehearsed) and batch == rehearsed:
        return batch
    raise BadInput(
        f"{where} is {_shown(batch)} in the batch and {_shown(rehearsed)} in the rehearsed "
        "samples; mix the batch as the loader gives it and pass the loader's collate function: "
        "Replay(…, collate=…)"
    )


def _mixed_mapping(
    batch: Mapping[Any, Any], rehearsed: Mapping[Any, Any], size: int, count: int, where: str
) -> Mapping[Any, Any]:
    if set(batch) != set(rehearsed):
        differing = sorted(map(str, set(batch) ^ set(rehearsed)))
        raise BadInput(
            f"{where} and the rehearsed samples differ in {differing}; "
            "mix the batch as the loader gives it, before anything is added to it"
        )
    parts = {
        key: mixed(batch[key], rehearsed[key], size=size, count=count, where=f"{where}[{key!r}]")
        for key in batch
    }
    if type(batch) is dict:
        return parts
    # As default_collate does: a mapping of another class may carry more than its items.
    clone: Any = copy.copy(batch)
    clone.update(parts)
    return clone


def _joined_arrays(batch: Any, rehearsed: Any, size: int, count: int, where: str) -> Any:
    fits = batch.ndim and batch.shape[0] == size and rehearsed.shape[0] == count
    if not fits or batch.shape[1:] != rehearsed.shape[1:] or batch.dtype != rehearsed.dtype:
        raise BadInput(
            f"{where} is {_shown(batch)} in a batch of {size}, {_shown(rehearsed)} in {count} "
            "rehearsed samples; expected one type and, after the first, the same sizes: pad to a "
            "fixed size, and mix before tensors are converted"
        )
    kept = batch[: size - count]
    return join(kept, rehearsed) if is_tensor(batch) else np.concatenate([kept, rehearsed])


def _of_type(batch: Sequence[Any], parts: list[Any]) -> Sequence[Any]:
    if hasattr(batch, "_fields"):
        return type(batch)(*parts)
    return type(batch)(parts)  # type: ignore[call-arg]


def _size(batch: Any) -> int | None:
    if is_tensor(batch) or isinstance(batch, np.ndarray):
        return int(batch.shape[0]) if batch.ndim else None
    if isinstance(batch, Mapping):
        return next((size for size in map(_size, batch.values()) if size), None)
    if not isinstance(batch, list | tuple) or not batch:
        return None
    if _is_list_of_samples(batch):
        return len(batch)
    return next((size for size in map(_size, batch) if size), None)


def _is_list_of_samples(batch: Sequence[Any]) -> bool:
    """Dicts of the same names are samples; tensors side by side are one collated tuple."""
    if all(isinstance(one, Mapping) for one in batch):
        return all(set(one) == set(batch[0]) for one in batch)
    containers = (Mapping, list, tuple, np.ndarray)
    return not any(is_tensor(one) or isinstance(one, containers) for one in batch)


def _shown(value: Any) -> str:
    if is_tensor(value) or isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return f"the {type(value).__name__} {str(value)[:40]!r}"
