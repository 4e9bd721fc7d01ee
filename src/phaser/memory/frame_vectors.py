"""One vector per frame, in which rules that compare frames measure how alike two of them are.

Where frozen vision features are cached, they are the vectors, each scaled to length one as in
iCaRL. Where they are not, state and action stand in, every channel with mean 0 and deviation 1 over
the task; a channel that never changes says nothing and counts as 0.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.core.memory import FrameFeatures, PreparedTask
from phaser.memory.frames import DemoFrames


def frame_vectors(task: PreparedTask, frames: DemoFrames) -> Float[np.ndarray, "frames dims"]:
    """A row for each of these frames, demonstration by demonstration."""
    if task.features is None:
        tables = _standardised(task.demos)
    else:
        tables = [_checked(demo, task.features) for demo in task.demos]
    rows = [
        table[[frame.frame for frame in of_demo]]
        for table, of_demo in zip(tables, frames, strict=True)
        if of_demo
    ]
    vectors = np.concatenate(rows).astype(np.float64, copy=False)
    return vectors if task.features is None else _of_length_one(vectors, task.task.name)


def _standardised(demos: tuple[Demo, ...]) -> list[Float[np.ndarray, "frames channels"]]:
    tables = [
        np.concatenate([demo.states, demo.actions], axis=1).astype(np.float64) for demo in demos
    ]
    everything = np.concatenate(tables)
    # A constant channel is asked for as such: its computed deviation may be a rounding error.
    varies = everything.max(axis=0) > everything.min(axis=0)
    scale = np.where(varies, everything.std(axis=0), np.inf)
    mean = everything.mean(axis=0)
    return [(table - mean) / scale for table in tables]


def _checked(demo: Demo, features: FrameFeatures) -> Float[np.ndarray, "frames vision"]:
    table = features(demo)
    if table.ndim != 2 or len(table) != demo.num_frames:
        raise BadInput(
            f"demonstration {demo.index} of {demo.task!r} has {demo.num_frames} frames, "
            f"its features shape {table.shape}; expected one row per frame"
        )
    return table


def _of_length_one(
    vectors: Float[np.ndarray, "frames dims"], task: str
) -> Float[np.ndarray, "frames dims"]:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    if not np.isfinite(lengths).all():
        raise BadInput(f"features of task {task!r} hold NaN or infinity; compute them again")
    scaled: Float[np.ndarray, "frames dims"] = vectors / np.where(lengths > 0, lengths, 1)[:, None]
    return scaled
