"""The only file here that knows torch: tensors to arrays and back, joining, other processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Subset, default_collate

from phaser.core.errors import BadInput
from phaser.memory.sample import TensorArray

_AS_WORDS = {torch.bfloat16: "bfloat16"}
"""Types that numpy does not have; their bits are kept as uint16."""


def is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def to_stored(value: Tensor) -> TensorArray:
    """A tensor as an array on the CPU, with the name of its type."""
    plain = value.detach().cpu()
    if plain.layout != torch.strided or plain.is_quantized:
        raise BadInput(
            "a sample holds a tensor that is sparse or quantised, which cannot be stored; "
            "let the dataset give dense ones (tensor.to_dense(), tensor.dequantize())"
        )
    if plain.dtype in _AS_WORDS:
        # By way of int16: torch has unsigned words only since 2.3.
        words = plain.contiguous().view(torch.int16).numpy().view(np.uint16)
        return TensorArray(values=words, dtype=_AS_WORDS[plain.dtype])
    name = str(plain.dtype).removeprefix("torch.")
    try:
        return TensorArray(values=plain.numpy(), dtype=name)
    except TypeError as error:
        raise BadInput(
            f"a sample holds a tensor of type {name}, which cannot be stored; "
            "let the dataset give float32, float16, bfloat16, bool or whole numbers"
        ) from error


def to_tensor(value: TensorArray) -> Tensor:
    """The tensor again; copied, because stored arrays are read-only maps of a file."""
    values = np.array(value.values)
    for dtype, name in _AS_WORDS.items():
        if value.dtype == name:
            return torch.from_numpy(values.view(np.int16)).view(dtype)
    return torch.from_numpy(values)


def as_array(value: Any) -> np.ndarray:
    """Numbers of any kind as an array: tensors, lists of tensors, arrays, plain numbers."""
    if isinstance(value, Tensor):
        plain = value.detach().cpu()
        return (plain.float() if plain.dtype in _AS_WORDS else plain).numpy()
    if isinstance(value, list | tuple) and value and isinstance(value[0], Tensor):
        return np.stack([as_array(one) for one in value])
    return np.asarray(value)


def collated(samples: Sequence[Any]) -> Any:
    """What a DataLoader makes of these samples when it is told nothing else."""
    return default_collate(list(samples))


def subset(dataset: Any, rows: list[int]) -> Any:
    """Some rows of a dataset, as torch's own class for that."""
    return Subset(dataset, rows)


def join(current: Tensor, rehearsed: Tensor) -> Tensor:
    """Both along the batch, where and as the current one is."""
    return torch.cat([current, rehearsed.to(current.device)])


def same_values(one: Any, other: Any) -> bool:
    """Two answers of a dataset are alike as far as they are arrays; anything else passes."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and bool(torch.equal(one.nan_to_num(), other.nan_to_num()))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return True


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """torch's numbers from this seed inside, and outside as if nobody had drawn any."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def process_rank() -> tuple[int, int]:
    """Rank and number of processes; 0 of 1 outside `torch.distributed`."""
    if not _distributed():
        return 0, 1
    return torch.distributed.get_rank(), torch.distributed.get_world_size()


def all_processes(succeeded: bool) -> bool:
    """Wait for every process, then say whether all of them succeeded."""
    if not _distributed():
        return succeeded
    flag = torch.tensor(int(succeeded), device=_talking_device())
    torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MIN)
    return bool(flag.item())


def mean_over_processes(value: Tensor) -> Tensor:
    """The mean of a tensor over all processes; the tensor itself where there is one."""
    if not _distributed():
        return value
    total = value.clone()
    torch.distributed.all_reduce(total)
    return total / torch.distributed.get_world_size()


def sum_over_processes(value: float) -> float:
    """The sum of a number over all processes; the number itself where there is one."""
    if not _distributed():
        return value
    total = torch.tensor(value, dtype=torch.float64, device=_talking_device())
    torch.distributed.all_reduce(total)
    return float(total.item())


def from_first_process(value: int) -> int:
    """The number that the first process has; its own where there is one process."""
    if not _distributed():
        return value
    found = torch.tensor(value, device=_talking_device())
    torch.distributed.broadcast(found, src=0)
    return int(found.item())


def to_arrays(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Tensors as arrays on the CPU; those of types that numpy lacks in 32 bits."""
    plain = {name: value.detach().cpu() for name, value in tensors.items()}
    return {
        name: (value.float() if value.dtype in _AS_WORDS else value).numpy()
        for name, value in plain.items()
    }


def to_tensors(arrays: Mapping[str, np.ndarray], *, like: torch.device) -> dict[str, Tensor]:
    """Arrays as tensors on a device."""
    return {name: torch.from_numpy(values).to(like) for name, values in arrays.items()}


def _distributed() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _talking_device() -> str:
    """Where a tensor must be for the processes to share it."""
    return "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
