"""Kept frames between the memory's store and training: their samples, and the way back.

The names inside a stored sample are LeRobot's, so that an exported memory is a dataset that others
can read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import UInt8

from phaser.core.contract import Contract
from phaser.core.demonstration import Demo, FrameRef
from phaser.core.policy import FrontEnd
from phaser.memory.store import Store
from phaser.training.frame_rows import KeptRows
from phaser.training.frames import ImageRows, TaskFrames

IMAGES, STATE, ACTION, IS_PAD, TASK = (
    "observation.images.",
    "observation.state",
    "action",
    "action_is_pad",
    "task",
)
READ_AT_ONCE = 64


def stored_samples(
    demos: Sequence[Demo], frames: TaskFrames, refs: Sequence[FrameRef]
) -> dict[FrameRef, dict[str, Any]]:
    """The content of frames as it is stored; each demonstration's images are read in one go."""
    samples: dict[FrameRef, dict[str, Any]] = {}
    for demo in demos:
        own = sorted(ref for ref in refs if ref.demo == demo.index)
        if own:
            samples |= _samples_of_demo(demo, own, frames)
    return samples


def _samples_of_demo(
    demo: Demo, refs: Sequence[FrameRef], frames: TaskFrames
) -> dict[FrameRef, dict[str, Any]]:
    images = {
        f"{IMAGES}{name}": camera.read([ref.frame for ref in refs])
        for name, camera in demo.cameras.items()
    }
    rows = [frames.row(ref) for ref in refs]
    instructions = frames.instructions_at(rows)
    return {
        ref: {
            **{name: pixels[position] for name, pixels in images.items()},
            STATE: frames.states[row],
            ACTION: frames.actions[row],
            IS_PAD: ~frames.valid[row],
            TASK: instructions[position],
        }
        for position, (ref, row) in enumerate(zip(refs, rows, strict=True))
    }


def frames_in_store(
    store: Store, task: str, *, contract: Contract, front_end: FrontEnd | None
) -> TaskFrames:
    """The stored frames of a task as training reads them; images through the front end, once."""
    refs = [
        ref for bucket in store.memory.buckets if bucket.phase.task == task for ref in bucket.frames
    ]
    parts: list[dict[str, np.ndarray]] = []
    columns: dict[str, list[Any]] = {STATE: [], ACTION: [], IS_PAD: [], TASK: []}
    for start in range(0, len(refs), READ_AT_ONCE):
        samples = store.read(refs[start : start + READ_AT_ONCE])
        for name, values in columns.items():
            values += [sample[name] for sample in samples]
        if front_end is not None:
            pixels = {name: _images(samples, name) for name in contract.cameras}
            parts.append(front_end(pixels))
    images: dict[str, ImageRows] = {}
    if front_end is not None:
        images = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    else:
        source = _LastRead(store=store, refs=refs)
        images = {
            name: StoredPixels(source=source, camera=name, image_size=contract.image_size)
            for name in contract.cameras
        }
    return TaskFrames(
        images=images,
        states=np.stack(columns[STATE]).astype(np.float32),
        actions=np.stack(columns[ACTION]),
        valid=~np.stack(columns[IS_PAD]),
        instructions=tuple(columns[TASK]),
        places=KeptRows.of(refs),
    )


@dataclass(kw_only=True, slots=True, eq=False)
class _LastRead:
    """Samples of rows; those of the last rows are remembered, as every camera asks for them."""

    store: Store
    refs: Sequence[FrameRef]
    _rows: list[int] = field(default_factory=list)
    _samples: list[Mapping[str, Any]] = field(default_factory=list)

    def __call__(self, rows: list[int]) -> list[Mapping[str, Any]]:
        if rows != self._rows:
            self._samples = list(self.store.read([self.refs[row] for row in rows]))
            self._rows = list(rows)
        return self._samples


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StoredPixels:
    """The stored images of one camera, decoded when a batch asks for them."""

    source: _LastRead
    camera: str
    image_size: tuple[int, int]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.image_size, 3)

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        return np.dtype(np.uint8)

    def __len__(self) -> int:
        return len(self.source.refs)

    def __getitem__(self, rows: list[int]) -> UInt8[np.ndarray, "count height width 3"]:
        return _images(self.source(rows), self.camera)


def _images(
    samples: Sequence[Mapping[str, Any]], camera: str
) -> UInt8[np.ndarray, "count height width 3"]:
    return np.stack([sample[f"{IMAGES}{camera}"] for sample in samples])
