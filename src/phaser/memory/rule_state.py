"""Tensors that the rules of a method leave in a memory for the next task (earlier weights, outputs
on stored frames): one file, named by its own hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from phaser.core.errors import BadInput
from phaser.core.files import write_bytes
from phaser.memory.manifest import StoredState
from phaser.memory.store_files import STATE, check_file
from phaser.memory.tensor_file import (
    ArraySpec,
    header,
    in_writing_order,
    open_tensor_file,
    storable,
)

Arrays = Mapping[str, np.ndarray]


def write_state(folder: Path, arrays: Arrays) -> StoredState:
    """Write the arrays; returns what the manifest has to know."""
    specs = {}
    for name, values in arrays.items():
        if not storable(values.dtype):
            raise BadInput(f"the state {name!r} is {values.dtype}, which a memory cannot hold")
        specs[name] = ArraySpec(dtype=values.dtype, shape=values.shape)
    parts = [header(specs, {})]
    parts += [np.ascontiguousarray(arrays[name]).tobytes() for name in in_writing_order(specs)]
    content = b"".join(parts)
    digest = hashlib.sha256(content).hexdigest()
    name = f"{digest[:12]}.safetensors"
    write_bytes(folder / STATE / name, content)
    return StoredState(file=f"{STATE}/{name}", num_bytes=len(content), sha256=digest)


def read_state(folder: Path, state: StoredState | None) -> dict[str, np.ndarray]:
    """The arrays, if every byte is as it was written; copied, so that the file may go."""
    if state is None:
        return {}
    path = folder / state.file
    check_file(path, state.num_bytes, state.sha256)
    file = open_tensor_file(path, num_bytes=state.num_bytes)
    return {name: np.array(values) for name, values in file.arrays.items()}
