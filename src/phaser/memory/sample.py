"""What one stored frame may hold: the user's own sample, in terms that need no torch.

A sample is a nest of dict, list and tuple. Its leaves are numpy arrays and scalars, tensors (as
`TensorArray`), PIL images, text, bytes, numbers, booleans and None. It comes back as it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phaser.core.demonstration import FrameRef, Task
from phaser.core.memory import Bucket

Sample = Any
"""A nest as described above; the store checks it and names what it cannot keep."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TensorArray:
    """A torch tensor without torch: its numbers, and the name of its type, such as "float32".

    numpy has no bfloat16: those tensors come as uint16 with `dtype="bfloat16"`.
    """

    values: np.ndarray
    dtype: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NewTask:
    """A finished task: which frames stay, and where their content comes from."""

    task: Task
    buckets: Sequence[Bucket]
    sample_of: Callable[[FrameRef], Sample]
    """Asked once for every kept frame, bucket by bucket."""
    phases: Sequence[Mapping[str, Any]] = ()
    """Rows of the certificate (`memory.certificate.phase_rows`), phases without frames included;
    taken from the buckets where there are none."""
    source: Mapping[str, str]
    """Where the demonstrations came from, for people; text only."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Addition:
    """A task that enters a memory, and older ones that give way to it."""

    new: NewTask
    shrunk: Mapping[str, Sequence[Bucket]] = field(default_factory=dict)
    """By task, the buckets that stay of it."""
    state: Mapping[str, np.ndarray] | None = None
    """What the method's rules leave for the next task; None: as it was."""
