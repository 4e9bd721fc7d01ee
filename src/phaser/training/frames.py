"""Frames of the tasks, looked up by reference: the only way from a FrameRef to numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from phaser.core.demonstration import Demo, FrameRef
from phaser.core.errors import BadInput
from phaser.training.batch import Batch

_BESIDE_INPUTS = ("states", "actions", "valid", "language")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskFrames:
    """All frames of one task's demonstrations, one after the other."""

    inputs: Mapping[str, np.ndarray]
    states: Float[np.ndarray, "frames state"]
    actions: Float[np.ndarray, "frames chunk action"]
    valid: Bool[np.ndarray, "frames chunk"]
    language: Float[np.ndarray, "rows language"]
    """One row for all frames, or one for each."""
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
            language=np.asarray(language, dtype=np.float32)[None],
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

    def between(self, start: int, end: int) -> TaskFrames:
        """Some imagined frames, as views."""
        return replace(
            self,
            inputs={key: rows[start:end] for key, rows in self.inputs.items()},
            **{key: getattr(self, key)[start:end] for key in _BESIDE_INPUTS},
            lengths={0: end - start},
        )

    def refs(self, task: str) -> list[FrameRef]:
        return [
            FrameRef(task, demo, frame)
            for demo, length in self.lengths.items()
            for frame in range(length)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class FrameTable:
    """The frames of all tasks that a run can train on or rehearse."""

    tasks: dict[str, TaskFrames] = field(default_factory=dict)
    imagined: dict[str, TaskFrames] = field(default_factory=dict)
    """Beside what was recorded."""

    def __contains__(self, task: str) -> bool:
        return task in self.tasks or task in self.imagined

    def imagine(self, name: str, batch: Batch) -> None:
        """From now on, frames 0, 1, … of a task of that name are the rows of this batch."""
        self.imagined[name] = TaskFrames(
            inputs={key: rows.numpy() for key, rows in batch.inputs.items()},
            **{key: getattr(batch, key).numpy() for key in _BESIDE_INPUTS},
            offsets={0: 0},
            lengths={0: len(batch)},
        )

    def join(self, name: str, parts: Sequence[str]) -> None:
        """From now on, a task of that name has the imagined frames of these, one after another.

        A batch then gathers from one table instead of many. The parts become views of it; all other
        imagined frames are forgotten, which would hold earlier tables in memory.
        """
        tables = [self.imagined[part] for part in parts]
        whole = TaskFrames(
            inputs={
                key: np.concatenate([one.inputs[key] for one in tables]) for key in tables[0].inputs
            },
            **{
                key: np.concatenate([getattr(one, key) for one in tables]) for key in _BESIDE_INPUTS
            },
            offsets={0: 0},
            lengths={0: sum(one.num_frames for one in tables)},
        )
        self.imagined.clear()
        self.imagined[name] = whole
        start = 0
        for part, one in zip(parts, tables, strict=True):
            self.imagined[part] = whole.between(start, start + one.num_frames)
            start += one.num_frames

    def batch(self, refs: Sequence[FrameRef]) -> Batch:
        """Gather frames in the order asked for; tasks may mix."""
        names = [ref.task for ref in refs]
        parts: list[tuple[np.ndarray, TaskFrames, list[int]]] = []
        for name in dict.fromkeys(names):
            if name not in self:
                raise BadInput(f"no frames of task {name!r} are loaded")
            where = np.array([k for k, other in enumerate(names) if other == name])
            frames = self.tasks[name] if name in self.tasks else self.imagined[name]
            parts.append((where, frames, [frames.row(refs[k]) for k in where]))
        first = parts[0][1]
        return Batch(
            inputs={
                key: _gather([(w, f.inputs[key], rows) for w, f, rows in parts], len(refs))
                for key in first.inputs
            },
            states=_gather([(w, f.states, rows) for w, f, rows in parts], len(refs)),
            language=_gather(
                [(w, f.language, r if len(f.language) > 1 else [0] * len(r)) for w, f, r in parts],
                len(refs),
            ),
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
