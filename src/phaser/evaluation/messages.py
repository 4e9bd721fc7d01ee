"""What the trainer and a simulator process tell each other; one question, one answer, in turn.

Nothing here imports torch: these are the only words that both sides know.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, UInt8

from phaser.core.demonstration import Task
from phaser.core.errors import PhaserError
from phaser.core.policy import Observation
from phaser.core.suite import Milestones, Suite

Film = UInt8[np.ndarray, "pictures height width 3"]
"""Pictures of one episode by the first camera, from its first moment to its last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """An episode to be run: a task from one initial state, for at most so many steps."""

    task: Task
    env_seed: int
    horizon: int
    film_every: int = 0
    """Steps between two pictures of the episode's clip; 0: no clip is made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """To the simulator: put the robot there and say what it sees."""

    suite: Suite
    job: Job


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Act:
    """To the simulator: carry these actions out open loop, then say what the robot sees."""

    chunk: Float[np.ndarray, "chunk action"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What an answer cost: seconds on the clock, and all processor time since the last one."""

    physics_s: float = 0.0
    """Resets are part of it, with the picture they end with."""
    rendering_s: float = 0.0
    processor_s: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            physics_s=self.physics_s + other.physics_s,
            rendering_s=self.rendering_s + other.rendering_s,
            processor_s=self.processor_s + other.processor_s,
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Looked:
    """From the simulator: what the robot sees; it waits for actions."""

    observation: Observation
    steps: int
    spent: Spent


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """From the simulator: the episode is over, at success or at the horizon."""

    success: bool
    steps: int
    milestones: Milestones
    spent: Spent
    film: Film | None = field(default=None, compare=False)
    """The pictures of the episode, where its job asked for them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """From the simulator: something that the user has to mend, such as a missing library."""

    kind: type[PhaserError]
    text: str

    def error(self) -> PhaserError:
        """The error that was raised there; its own constructor may want other arguments."""
        error = self.kind.__new__(self.kind)
        error.args = (self.text,)
        return error


Question = Start | Act
Answer = Looked | Ended | Refused
