"""Frames of the tasks, looked up by reference: the only way from a FrameRef to training samples.

The frames of a task come from its recording while the task is learnt, and from the memory's store,
or the rows of the recording that were kept, afterwards. Training cannot tell the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from jaxtyping import Bool, Float, Shaped

from phaser.core.demonstration import Demo, FrameRef
from phaser.core.errors import BadInput
from phaser.core.samples import Samples
from phaser.training.frame_rows import DemoRows, KeptRows, Rows, rows_in_order


class ImageRows(Protocol):
    """Rows of one camera, or of what a front end made of it: an array, or read when asked for."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: list[int]) -> Shaped[np.ndarray, "count ..."]: ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskFrames:
    """Frames of one task, one after the other."""

    images: Mapping[str, ImageRows]
    states: Float[np.ndarray, "frames state"]
    actions: Float[np.ndarray, "frames chunk action"]
    valid: Bool[np.ndarray, "frames chunk"]
    instructions: tuple[str, ...]
    """One for all frames, or one for each."""
    places: Rows
    """Which row a frame is in."""

    @classmethod
    def of(
        cls,
        demos: Sequence[Demo],
        images: Mapping[str, ImageRows],
        *,
        instruction: str,
        chunk_length: int,
    ) -> TaskFrames:
        """Lay demonstrations out in order, each frame with the chunk of actions from it on."""
        places = DemoRows.of(demos)
        for name, rows in images.items():
            if len(rows) != places.num_rows:
                raise BadInput(f"input {name!r} has {len(rows)} rows for {places.num_rows} frames")
        chunks = [_chunks(demo.actions, chunk_length) for demo in demos]
        return cls(
            # Plain views: indexing a memory map as such costs a Python call per row block.
            images={
                name: np.asarray(rows) if isinstance(rows, np.ndarray) else rows
                for name, rows in images.items()
            },
            states=np.concatenate([demo.states for demo in demos]).astype(np.float32),
            actions=np.concatenate([actions for actions, _ in chunks]),
            valid=np.concatenate([valid for _, valid in chunks]),
            instructions=(instruction,),
            places=places,
        )

    @classmethod
    def imagined(cls, samples: Samples) -> TaskFrames:
        """Frames 0, 1, … of demonstration 0 are the rows of these samples."""
        return cls(
            images=samples.images,
            states=samples.states,
            actions=samples.actions,
            valid=samples.valid,
            instructions=samples.instructions,
            places=rows_in_order(len(samples)),
        )

    @property
    def num_frames(self) -> int:
        return len(self.states)

    def row(self, ref: FrameRef) -> int:
        return self.places.row(ref)

    def refs(self, task: str) -> list[FrameRef]:
        """References to all frames, in the order of the rows."""
        return self.places.refs(task)

    def instructions_at(self, rows: Sequence[int]) -> list[str]:
        if len(self.instructions) == 1:
            return list(self.instructions) * len(rows)
        return [self.instructions[row] for row in rows]

    def only(self, refs: Sequence[FrameRef]) -> TaskFrames:
        """A copy that holds these frames alone, so that the rest can be freed."""
        rows = [self.row(ref) for ref in refs]
        return TaskFrames(
            images={name: images[rows] for name, images in self.images.items()},
            states=self.states[rows],
            actions=self.actions[rows],
            valid=self.valid[rows],
            instructions=self.instructions,
            places=KeptRows.of(refs),
        )

    def between(self, start: int, end: int) -> TaskFrames:
        """Some imagined frames, as views."""
        return replace(
            self,
            images={key: _as_array(rows)[start:end] for key, rows in self.images.items()},
            states=self.states[start:end],
            actions=self.actions[start:end],
            valid=self.valid[start:end],
            instructions=self.instructions[start:end],
            places=rows_in_order(end - start),
        )


@dataclass(frozen=True, slots=True, eq=False)
class FrameTable:
    """The frames of all tasks that a run can train on or rehearse (`core.ports.Frames`)."""

    tasks: dict[str, TaskFrames] = field(default_factory=dict)
    invented: dict[str, TaskFrames] = field(default_factory=dict)
    """Frames that were never recorded, by the name that a rule gave them."""

    def __contains__(self, task: str) -> bool:
        return task in self.tasks or task in self.invented

    def imagine(self, name: str, samples: Samples) -> None:
        """From now on, frames 0, 1, … of a task of that name are the rows of these samples."""
        self.invented[name] = TaskFrames.imagined(samples)

    def join(self, name: str, parts: Sequence[str]) -> None:
        """From now on, a task of that name has the imagined frames of these, one after another.

        A batch then gathers from one table instead of many. The parts become views of it; all other
        imagined frames are forgotten, which would hold earlier tables in memory.
        """
        tables = [self.invented[part] for part in parts]
        whole = TaskFrames.imagined(
            Samples(
                images={
                    key: np.concatenate([_as_array(one.images[key]) for one in tables])
                    for key in tables[0].images
                },
                states=np.concatenate([one.states for one in tables]),
                instructions=tuple(text for one in tables for text in one.instructions),
                actions=np.concatenate([one.actions for one in tables]),
                valid=np.concatenate([one.valid for one in tables]),
            )
        )
        self.invented.clear()
        self.invented[name] = whole
        start = 0
        for part, one in zip(parts, tables, strict=True):
            self.invented[part] = whole.between(start, start + one.num_frames)
            start += one.num_frames

    def samples(self, refs: Sequence[FrameRef]) -> Samples:
        """Gather frames in the order asked for; tasks may mix."""
        names = [ref.task for ref in refs]
        parts: list[_Part] = []
        for name in dict.fromkeys(names):
            if name not in self:
                raise BadInput(f"no frames of task {name!r} are loaded")
            where = np.array([k for k, other in enumerate(names) if other == name])
            frames = self.tasks[name] if name in self.tasks else self.invented[name]
            parts.append((where, frames, [frames.row(refs[k]) for k in where]))
        first, count = parts[0][1], len(refs)
        instructions = [""] * count
        for where, frames, rows in parts:
            for place, text in zip(where, frames.instructions_at(rows), strict=True):
                instructions[place] = text
        return Samples(
            images={
                key: _gather([(w, f.images[key], rows) for w, f, rows in parts], count)
                for key in first.images
            },
            states=_gather([(w, f.states, rows) for w, f, rows in parts], count),
            instructions=tuple(instructions),
            actions=_gather([(w, f.actions, rows) for w, f, rows in parts], count),
            valid=_gather([(w, f.valid, rows) for w, f, rows in parts], count),
        )


_Part = tuple[np.ndarray, TaskFrames, list[int]]


def _gather(
    parts: Sequence[tuple[np.ndarray, ImageRows, list[int]]], count: int
) -> Shaped[np.ndarray, "count ..."]:
    source = parts[0][1]
    gathered = np.empty((count, *source.shape[1:]), dtype=source.dtype)
    for where, rows_of, rows in parts:
        gathered[where] = rows_of[rows]
    return gathered


def _as_array(rows: ImageRows) -> np.ndarray:
    return rows if isinstance(rows, np.ndarray) else rows[list(range(len(rows)))]


def _chunks(
    actions: Float[np.ndarray, "frames action"], chunk_length: int
) -> tuple[Float[np.ndarray, "frames chunk action"], Bool[np.ndarray, "frames chunk"]]:
    """The next `chunk_length` actions of every frame; past the end the last one, marked invalid."""
    ahead = np.arange(len(actions))[:, None] + np.arange(chunk_length)[None, :]
    valid = ahead < len(actions)
    return actions[np.minimum(ahead, len(actions) - 1)].astype(np.float32), valid
