"""Datasets inside datasets: torch's Subset and ConcatDataset, LeRobot's MultiLeRobotDataset.

Their rows are read through them, as a loader would; their columns come from the datasets inside,
so that no image is decoded for an action. Classes derived from them may change what a sample is,
so those are read sample by sample like any other dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from phaser.core.errors import BadInput
from phaser.replay.columns import Key, cheap_column, read_columns, say

_SUBSET, _CONCAT, _MULTI = "Subset", "ConcatDataset", "MultiLeRobotDataset"
_INSIDE = {_SUBSET: "dataset", _CONCAT: "datasets", _MULTI: "_datasets"}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SubsetRows:
    """Some rows of a dataset, and their columns without reading a sample."""

    subset: Any
    inside: Any

    @property
    def root(self) -> Any:
        """The folder of the dataset that the rows are chosen from; None where it has none."""
        return getattr(self.inside, "root", None)

    def __len__(self) -> int:
        return len(self.subset)

    def __getitem__(self, row: int) -> Any:
        return self.subset[row]

    def column(self, name: Key) -> np.ndarray:
        chosen: np.ndarray = cheap_column(self.inside, name)[np.asarray(self.subset.indices)]
        return chosen


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class JoinedRows:
    """Datasets one after the other, their episodes numbered anew where numbers meet."""

    joined: Any
    parts: tuple[Any, ...]
    episode: Key
    """How a sample names its episode."""

    def __len__(self) -> int:
        return len(self.joined)

    def __getitem__(self, row: int) -> Any:
        return self.joined[row]

    def column(self, name: Key) -> np.ndarray:
        return self._joined(name, [cheap_column(part, name) for part in self.parts])

    def all_columns(self, names: Sequence[Key]) -> dict[Key, np.ndarray]:
        """The named columns, each dataset read by itself: numbers that meet tell nothing."""
        found = [read_columns(part, names) for part in self.parts]
        return {name: self._joined(name, [one[name] for one in found]) for name in names}

    def _joined(self, name: Key, columns: list[np.ndarray]) -> np.ndarray:
        if name == self.episode:
            columns = _numbered_anew([np.ravel(one) for one in columns])
        if len({one.shape[1:] for one in columns}) > 1:
            shapes = [one.shape[1:] for one in columns]
            raise BadInput(
                f"{name!r} has the shapes {shapes} in the datasets that were joined; expected one "
                "shape: make them tasks of their own"
            )
        return np.concatenate(columns)


def rows_of(dataset: Any, *, episode: Key) -> Any:
    """The dataset as it is read here: itself, or the view of one that holds others."""
    inside = datasets_inside(dataset)
    if not inside:
        return dataset
    parts = tuple(rows_of(one, episode=episode) for one in inside)
    if _kind(dataset) == _SUBSET:
        return SubsetRows(subset=dataset, inside=parts[0])
    return JoinedRows(joined=dataset, parts=parts, episode=episode)


def datasets_inside(dataset: Any) -> tuple[Any, ...]:
    """The datasets that a dataset is made of; empty where it is none of the three."""
    name = _INSIDE.get(_kind(dataset))
    found = getattr(dataset, name, None) if name else None
    if found is None:
        return ()
    return (found,) if _kind(dataset) == _SUBSET else tuple(found)


def innermost(dataset: Any) -> Iterator[Any]:
    """The datasets that hold no others, in their order."""
    dataset = getattr(dataset, "subset", None) or getattr(dataset, "joined", None) or dataset
    inside = datasets_inside(dataset)
    if not inside:
        yield dataset
    for one in inside:
        yield from innermost(one)


def _kind(dataset: Any) -> str:
    """The name of the class itself, not of one that it is derived from."""
    kind = type(dataset)
    known = kind.__module__.startswith(("torch.utils.data", "lerobot."))
    return kind.__name__ if known or kind.__name__ == _MULTI else ""


def _numbered_anew(
    numbers: list[Int[np.ndarray, "samples"]],
) -> list[Int[np.ndarray, "samples"]]:
    """Episode numbers moved apart, if two datasets share one."""
    found = [set(np.unique(one).tolist()) for one in numbers]
    if len(set().union(*found)) == sum(map(len, found)):
        return numbers
    moved, begin = [], 0
    for one in numbers:
        moved.append(one - int(one.min()) + begin)
        begin = int(moved[-1].max()) + 1
    firsts = ", ".join(str(int(one.min())) for one in moved)
    say(
        f"{len(numbers)} datasets number their episodes alike; in the memory they are numbered on, "
        f"beginning at {firsts}"
    )
    return moved
