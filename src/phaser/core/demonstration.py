"""Tasks, demonstrations and references to single frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, UInt8

from phaser.core.errors import BadInput


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A task: its name in the suite and the instruction the policy is given."""

    name: str
    instruction: str


class FrameRef(NamedTuple):
    """One frame of one demonstration of one task; a tuple, because a draw makes many of them."""

    task: str
    demo: int
    frame: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionLayout:
    """Which action dimensions move the arm and which command the gripper; never guessed."""

    motion: tuple[int, ...]
    gripper: tuple[int, ...]
    convention: str = "delta"
    translation: tuple[int, ...] = field(default=(), compare=False)
    """The dimensions that move the hand along x, y and z, z upwards; empty where nobody says so.
    Phases are named with it, nothing else asks."""

    def __post_init__(self) -> None:
        if self.convention not in ("delta", "absolute"):
            raise BadInput(f"action convention {self.convention!r}; expected 'delta' or 'absolute'")
        if set(self.motion) & set(self.gripper):
            raise BadInput(f"dimensions {self.motion} and {self.gripper} overlap")
        if self.translation and not (
            len(self.translation) == 3 and set(self.translation) <= set(self.motion)
        ):
            raise BadInput(
                f"translation {self.translation}; expected three of the motion dimensions "
                f"{self.motion}, or none"
            )


@runtime_checkable
class Images(Protocol):
    """Frames of one camera, read on demand."""

    def __len__(self) -> int: ...

    def read(self, frames: Sequence[int]) -> UInt8[np.ndarray, "count height width 3"]: ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Demo:
    """One demonstration. Images stay on disk until they are read."""

    task: str
    index: int
    actions: Float[np.ndarray, "frames action"]
    states: Float[np.ndarray, "frames state"]
    layout: ActionLayout
    cameras: Mapping[str, Images] = field(default_factory=dict)
    instruction: str = ""
    """The words that say what was to be done; empty where the source has none."""

    def __post_init__(self) -> None:
        where = f"demonstration {self.index} of {self.task!r}"
        if self.actions.ndim != 2 or len(self.actions) == 0:
            raise BadInput(f"{where} has actions of shape {self.actions.shape}")
        if len(self.states) != len(self.actions):
            raise BadInput(f"{where} has {len(self.actions)} actions, {len(self.states)} states")
        if not (np.isfinite(self.actions).all() and np.isfinite(self.states).all()):
            raise BadInput(f"{where} holds NaN or infinity; remove or repair it")
        for name, images in self.cameras.items():
            if len(images) != len(self.actions):
                raise BadInput(
                    f"{where} has {len(self.actions)} frames, camera {name!r} {len(images)}"
                )

    @property
    def num_frames(self) -> int:
        return len(self.actions)
