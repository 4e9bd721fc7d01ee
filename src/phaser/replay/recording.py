"""A user's dataset as demonstrations, and the way back from a frame to the user's own sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from phaser.core.demonstration import ActionLayout, Demo, FrameRef
from phaser.core.errors import BadInput
from phaser.replay.columns import Columns, read_columns
from phaser.replay.demo_samples import DemoSamples
from phaser.replay.image_transforms import without_image_transforms
from phaser.replay.nested_datasets import rows_of
from phaser.replay.user_layouts import layout_of


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Recording:
    """The demonstrations of one task, and the samples they came from."""

    demos: tuple[Demo, ...]
    samples: Any
    """The dataset as it is read here: without image transforms, with its columns."""
    rows: Mapping[int, Int[np.ndarray, "frames"]]
    """For every episode the rows of its frames in the dataset."""

    def row(self, ref: FrameRef) -> int:
        return int(self.rows[ref.demo][ref.frame])

    def sample(self, ref: FrameRef) -> Any:
        """What the dataset gives for this frame."""
        return self.samples[self.row(ref)]


def read_recording(
    demos: Any, *, task: str, columns: Columns, layout: ActionLayout | str | None
) -> Recording:
    """Episodes, frames and actions of a map-style dataset, or of demonstrations of our own."""
    given = samples_of(demos, task)
    samples = rows_of(without_image_transforms(given), episode=columns.episode)
    names = [columns.episode, columns.frame, columns.action]
    found = read_columns(samples, names if columns.state is None else [*names, columns.state])
    actions = _per_frame(found[columns.action], f"{columns.action!r} of task {task!r}")
    known = layout_of(
        given, layout, action=columns.action, num_dimensions=actions.shape[1], task=task
    )
    states = np.zeros((len(actions), 0))
    if columns.state is not None:
        states = _per_frame(found[columns.state], f"{columns.state!r} of task {task!r}")
    rows = _rows_by_episode(found[columns.episode], found[columns.frame], task)
    return Recording(
        demos=tuple(
            Demo(task=task, index=episode, actions=actions[own], states=states[own], layout=known)
            for episode, own in rows.items()
        ),
        samples=samples,
        rows=rows,
    )


def samples_of(demos: Any, task: str) -> Any:
    """What was given as a map-style dataset, or one line that says why it is none."""
    if isinstance(demos, Demo):
        raise BadInput(f"task {task!r} has one demonstration; give a list: [demo]")
    if isinstance(demos, Sequence) and len(demos) and isinstance(demos[0], Demo):
        return DemoSamples(demos)
    if not hasattr(demos, "__len__") or not hasattr(demos, "__getitem__"):
        raise BadInput(
            f"the demonstrations of {task!r} are a {type(demos).__name__}; expected a map-style "
            "dataset (len and indexing): iterable datasets cannot say what they will give"
        )
    if not len(demos):
        raise BadInput(f"the dataset of task {task!r} is empty; expected demonstrations")
    return demos


def _per_frame(values: np.ndarray, what: str) -> Float[np.ndarray, "frames dims"]:
    """One row per frame; of a chunk of rows the first, which is the frame's own."""
    values = values[:, 0] if values.ndim == 3 else values
    if values.ndim != 2 or not np.issubdtype(values.dtype, np.number):
        raise BadInput(
            f"{what} has shape {values.shape} and type {values.dtype} over all samples; "
            "expected numbers: (samples, dims), or chunks of them: (samples, steps, dims)"
        )
    return values.astype(np.float64)


def _rows_by_episode(
    episodes: np.ndarray, frames: np.ndarray, task: str
) -> dict[int, Int[np.ndarray, "frames"]]:
    """Rows of every episode in order of time; nothing may be missing, doubled or out of order."""
    owners = _whole_numbers(episodes, "episode", task)
    places = _whole_numbers(frames, "frame", task)
    found: dict[int, Int[np.ndarray, "frames"]] = {}
    order = np.argsort(owners, kind="stable")
    present, starts = np.unique(owners[order], return_index=True)
    for episode, rows in zip(present, np.split(order, starts[1:]), strict=True):
        numbers = places[rows]
        if not np.array_equal(numbers, np.arange(len(rows))):
            raise BadInput(f"episode {int(episode)} of task {task!r} {_defect(numbers)}")
        found[int(episode)] = rows
    return found


def _whole_numbers(values: np.ndarray, what: str, task: str) -> Int[np.ndarray, "samples"]:
    """One integer of 64 bits per sample."""
    # LeRobot's table gives numbers as one-element lists in some versions.
    rows = values.reshape(len(values), -1)
    if rows.shape[1] != 1:
        raise BadInput(f"task {task!r}: expected one episode and one frame number per sample")
    found = rows[:, 0]
    whole = np.zeros(len(found), np.int64)
    fits = np.zeros(len(found), bool)
    if found.dtype.kind in "iuf":
        with np.errstate(invalid="ignore"):
            whole = found.astype(np.int64)
        fits = (whole == found) & ((whole < 0) == (found < 0))
    elif found.dtype == object:
        fits = np.array([isinstance(one, int) and -(1 << 63) <= one < 1 << 63 for one in found])
        whole = found.astype(np.int64) if fits.all() else whole
    if not fits.all():
        wrong = found[int(np.argmin(fits))]
        raise BadInput(
            f"task {task!r} has the {what} number {wrong} ({found.dtype}); expected whole numbers "
            "of at most 64 bits, such as 7 or 20240517123000"
        )
    return whole


def _defect(numbers: np.ndarray) -> str:
    unique = np.unique(numbers)
    if len(unique) < len(numbers):
        twice = int(unique[np.bincount(np.searchsorted(unique, numbers)) > 1][0])
        return f"has frame {twice} more than once; remove the duplicate"
    gaps = np.flatnonzero(unique != np.arange(len(unique)))
    if len(gaps):
        return f"has no frame {int(gaps[0])} but later ones; give whole episodes, from frame 0 on"
    return "has its frames out of order; give a dataset whose rows follow time, and shuffle later"
