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
    """Its name, one per task of a stream: frames, buckets and files carry it."""
    instruction: str
    """The words that the policy is given."""


class FrameRef(NamedTuple):
    """One frame of one demonstration of one task; a tuple, because a draw makes many of them."""

    task: str
    """The name of the task."""
    demo: int
    """The number of the demonstration (`Demo.index`), an episode in most datasets."""
    frame: int
    """The number of the frame in its demonstration, from 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionLayout:
    """Which action dimensions move the arm and which command the gripper; never guessed."""

    motion: tuple[int, ...]
    """Positions of the numbers that move the arm."""
    gripper: tuple[int, ...]
    """Positions of the numbers that open and close grippers; empty for an arm without one."""
    convention: str = "delta"
    """"delta" for actions that are changes, "absolute" for targets such as joint angles."""
    translation: tuple[int, ...] = field(default=(), compare=False)
    """The dimensions that move the hand along x, y and z, z upwards; empty where nobody says so.
    Phases are named with it, nothing else asks."""
    gripper_closes: str = "rising"
    """"rising" where a larger number closes the gripper, "falling" where it opens it."""

    def __post_init__(self) -> None:
        if self.convention not in ("delta", "absolute"):
            raise BadInput(f"action convention {self.convention!r}; expected 'delta' or 'absolute'")
        if self.gripper_closes not in ("rising", "falling"):
            raise BadInput(
                f"gripper_closes {self.gripper_closes!r}; expected 'rising' or 'falling'"
            )
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

    def __len__(self) -> int:
        """How many frames the camera has recorded."""
        ...

    def read(self, frames: Sequence[int]) -> UInt8[np.ndarray, "count height width 3"]:
        """The images of these frames, in the order asked for."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Demo:
    """One demonstration. Images stay on disk until they are read."""

    task: str
    """The name of the task that it shows."""
    index: int
    """Its number among the demonstrations of the task."""
    actions: Float[np.ndarray, "frames action"]
    """The action that answered each frame."""
    states: Float[np.ndarray, "frames state"]
    """What the robot felt at each frame: joint angles, positions, fingers."""
    layout: ActionLayout
    """Which numbers of an action move the arm and which command the gripper."""
    cameras: Mapping[str, Images] = field(default_factory=dict)
    """Images by the name of the camera, as many as there are actions."""
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
        """How many frames the demonstration has."""
        return len(self.actions)
