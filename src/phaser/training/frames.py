"""Frames of the tasks, looked up by reference: the only way from a FrameRef to numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from phaser.core.demonstration import Demo, FrameRef
from phaser.core.errors import BadInput
from phaser.training.batch import Batch


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskFrames:
    """All frames of one task's demonstrations, one after the other."""

    inputs: Mapping[str, np.ndarray]
    states: Float[np.ndarray, "frames state"]
    actions: Float[np.ndarray, "frames chunk action"]
    valid: Bool[np.ndarray, "frames chunk"]
    language: Float[np.ndarray, "language"]
    offsets: Mapping[int, int]
    lengths: Mapping[int, int]

    @classmethod
    def of(
        cls,
        demos: Sequence[Demo],
        inputs: Mapping[str, np.ndarray],
        *,
        language: Float[np.ndarray, "language"],
        chunk_length: int,
    ) -> TaskFrames:
        """Lay the demonstrations out in order, each frame with the chunk of actions from it on."""
        lengths = {demo.index: demo.num_frames for demo in demos}
        starts = np.cumsum([0, *lengths.values()])
        for name, rows in inputs.items():
            if len(rows) != starts[-1]:
                raise BadInput(f"input {name!r} has {len(rows)} rows for {starts[-1]} frames")
        chunks = [_chunks(demo.actions, chunk_length) for demo in demos]
        return cls(
            # Plain views: indexing a memory map as such costs a Python call per row block.
            inputs={name: np.asarray(rows) for name, rows in inputs.items()},
            states=np.concatenate([demo.states for demo in demos]).astype(np.float32),
            actions=np.concatenate([actions for actions, _ in chunks]),
            valid=np.concatenate([valid for _, valid in chunks]),
            language=np.asarray(language, dtype=np.float32),
            offsets=dict(zip(lengths, starts[:-1].tolist(), strict=True)),
            lengths=lengths,
        )

    @property
    def num_frames(self) -> int:
        return len(self.states)

    def row(self, ref: FrameRef) -> int:
        if ref.demo not in self.lengths or not 0 <= ref.frame < self.lengths[ref.demo]:
            raise BadInput(f"{ref} is not among the recorded frames")
        return self.offsets[ref.demo] + ref.frame

    def refs(self, task: str) -> list[FrameRef]:
        return [
            FrameRef(task, demo, frame)
            for demo, length in self.lengths.items()
            for frame in range(length)
        ]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ImaginedFrames:
    """Recorded frames with something of their own."""

    shown: Sequence[FrameRef]
    own: Mapping[str, Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class FrameTable:
    """The frames of all tasks that a run can train on or rehearse."""

    tasks: dict[str, TaskFrames] = field(default_factory=dict)
    imagined: dict[str, ImaginedFrames] = field(default_factory=dict)

    def __contains__(self, task: str) -> bool:
        return task in self.tasks or task in self.imagined

    def imagine(self, name: str, shown: Sequence[FrameRef], own: Mapping[str, Tensor]) -> None:
        """From now on, frames 0, 1, … of a task of that name are the frames shown, but for what
        they have of their own, by the names that a batch has for it."""
        if any(len(rows) != len(shown) for rows in own.values()):
            counts = {key: len(rows) for key, rows in own.items()}
            raise BadInput(f"{len(shown)} frames are shown to imagine {counts}")
        self.imagined[name] = ImaginedFrames(shown=shown, own=own)

    def batch(self, refs: Sequence[FrameRef]) -> Batch:
        """Gather frames in the order asked for; tasks may mix."""
        if not self.imagined:
            return self._recorded(refs)
        found = [self.imagined.get(ref.task) for ref in refs]
        shown = [
            ref if one is None else one.shown[ref.frame]
            for ref, one in zip(refs, found, strict=True)
        ]
        batch = self._recorded(shown)
        for one in {id(one): one for one in found if one is not None}.values():
            where = [k for k, other in enumerate(found) if other is one]
            rows = torch.tensor([refs[k].frame for k in where])
            for key, own in one.own.items():
                batch[key][where] = own[rows]
        return batch

    def _recorded(self, refs: Sequence[FrameRef]) -> Batch:
        names = [ref.task for ref in refs]
        parts: list[tuple[np.ndarray, TaskFrames, list[int]]] = []
        for name in dict.fromkeys(names):
            if name not in self.tasks:
                raise BadInput(f"no frames of task {name!r} are loaded")
            where = np.array([k for k, other in enumerate(names) if other == name])
            frames = self.tasks[name]
            parts.append((where, frames, [frames.row(refs[k]) for k in where]))
        first = parts[0][1]
        return Batch(
            inputs={
                key: _gather([(w, f.inputs[key], rows) for w, f, rows in parts], len(refs))
                for key in first.inputs
            },
            states=_gather([(w, f.states, rows) for w, f, rows in parts], len(refs)),
            language=_gather([(w, f.language[None], [0] * len(r)) for w, f, r in parts], len(refs)),
            actions=_gather([(w, f.actions, rows) for w, f, rows in parts], len(refs)),
            valid=_gather([(w, f.valid, rows) for w, f, rows in parts], len(refs)),
        )


def _gather(parts: Sequence[tuple[np.ndarray, np.ndarray, list[int]]], count: int) -> Tensor:
    source = parts[0][1]
    gathered = np.empty((count, *source.shape[1:]), dtype=source.dtype)
    for where, rows_of, rows in parts:
        gathered[where] = rows_of[rows]
    return torch.from_numpy(gathered)


def _chunks(
    actions: Float[np.ndarray, "frames action"], chunk_length: int
) -> tuple[Float[np.ndarray, "frames chunk action"], Bool[np.ndarray, "frames chunk"]]:
    """The next `chunk_length` actions of every frame; past the end the last one, marked invalid."""
    ahead = np.arange(len(actions))[:, None] + np.arange(chunk_length)[None, :]
    valid = ahead < len(actions)
    return actions[np.minimum(ahead, len(actions) - 1)].astype(np.float32), valid
