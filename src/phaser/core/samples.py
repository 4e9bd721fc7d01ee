"""Frames as a policy is trained on them, before the policy makes a batch of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped


@runtime_checkable
class SampleRows(Protocol):
    """Rows of samples as the rules of a method use them, whatever the samples are."""

    def __len__(self) -> int: ...

    def first(self, count: int) -> SampleRows:
        """The first rows."""
        ...

    @property
    def valid(self) -> Bool[np.ndarray, "rows chunk"]:
        """False where a chunk of actions is padded."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Samples:
    """Rows of frames, from any tasks, in numpy and on the CPU.

    A policy turns them into a batch of its own: on its device, tokenised, normalised.
    """

    images: Mapping[str, Shaped[np.ndarray, "rows ..."]]
    """By camera the pixels (height, width, RGB in bytes), or, for a policy with a front end, what
    the front end made of them."""
    states: Float[np.ndarray, "rows state"]
    """The robot's state at each frame, as recorded."""
    instructions: tuple[str, ...]
    """The instruction of each frame's task."""
    actions: Float[np.ndarray, "rows chunk action"]
    """The actions from each frame on; empty chunks when a policy is asked to act."""
    valid: Bool[np.ndarray, "rows chunk"]
    """False where a chunk runs past the end of its demonstration."""
    places: Int[np.ndarray, "rows"] | None = None
    """Places of these rows in the batch of all processes; None: these rows are all of it."""
    num_places: int | None = None
    """Rows in the batch of all processes."""

    def __len__(self) -> int:
        """How many frames these are."""
        return len(self.states)

    def first(self, count: int) -> Samples:
        """The first rows, as views."""
        return self.rows(slice(0, count))

    def rows(self, chosen: slice) -> Samples:
        """A span of rows, as views."""
        return replace(
            self,
            images={name: rows[chosen] for name, rows in self.images.items()},
            states=self.states[chosen],
            instructions=self.instructions[chosen],
            actions=self.actions[chosen],
            valid=self.valid[chosen],
            places=None if self.places is None else self.places[chosen],
        )

    @classmethod
    def without_actions(
        cls,
        images: Mapping[str, np.ndarray],
        *,
        states: Float[np.ndarray, "rows state"],
        instructions: Sequence[str],
    ) -> Samples:
        """What a policy sees when it is asked to act.

        Args:
            images: by camera one image per row, or what the policy's front end made of them.
            states: the robot's state, one row each.
            instructions: one instruction per row.
        """
        count = len(states)
        return cls(
            images=images,
            states=states,
            instructions=tuple(instructions),
            actions=np.zeros((count, 0, 0), np.float32),
            valid=np.zeros((count, 0), bool),
        )
