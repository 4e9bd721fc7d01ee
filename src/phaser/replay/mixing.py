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


def batch_size(batch: Any, alone: Any) -> int:
    """Samples in a batch; `alone` is a batch of one sample, whose form tells what to count.

    A list is the batch itself where a batch of one has one entry, and part of the form where both
    have equally many.
    """
    size = _size(batch, alone)
    if size is None:
        raise BadInput(
            f"a batch is {_shown(batch)}, a stored sample alone {_shown(alone)}; mix the batch as "
            "the loader gives it and pass the loader's collate function: Replay(…, collate=…)"
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
    whole: Mapping[Any, Any] = clone
    return whole


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


def _size(batch: Any, alone: Any) -> int | None:
    if is_tensor(batch) or isinstance(batch, np.ndarray):
        is_batch = getattr(alone, "ndim", 0) and batch.ndim and alone.shape[0] == 1
        return int(batch.shape[0]) if is_batch else None
    if isinstance(batch, Mapping) and isinstance(alone, Mapping):
        pairs = [(batch[key], alone[key]) for key in batch if key in alone]
    elif not isinstance(batch, list | tuple) or not isinstance(alone, list | tuple):
        return None
    elif len(batch) != len(alone):
        return len(batch) if len(alone) == 1 else None
    else:
        pairs = list(zip(batch, alone, strict=True))
    inside = next((size for one, other in pairs if (size := _size(one, other))), None)
    # One entry in both, and nothing in it to count: a batch of a single sample.
    is_single = inside is None and isinstance(batch, list | tuple) and len(batch) == 1
    return 1 if is_single else inside


def _shown(value: Any) -> str:
    if is_tensor(value) or isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return f"the {type(value).__name__} {str(value)[:40]!r}"
