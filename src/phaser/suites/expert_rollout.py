"""Follow a scripted expert through an episode, with noise on what is executed, not on the label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from jaxtyping import Float

from phaser.core.streams import Stream

Seen = TypeVar("Seen")
Meant = TypeVar("Meant")


class Steps(Protocol):
    """What is needed of a simulator that stands at its initial state."""

    def step(self, action: Float[np.ndarray, "action"]) -> bool: ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed(Generic[Seen, Meant]):
    """A solved demonstration: what was seen, commanded and meant at every step."""

    seen: tuple[Seen, ...]
    actions: Float[np.ndarray, "frames action"]
    stages: tuple[Meant, ...]


def follow(
    env: Steps,
    decide: Callable[[], tuple[Float[np.ndarray, "action"], Meant]],
    look: Callable[[], Seen],
    *,
    noise: Stream,
    deviation: float,
    motion: Sequence[int],
    max_steps: int,
    steps_after_success: int,
) -> Followed[Seen, Meant] | None:
    """Carry out what the expert says, with noise on the motion; nothing when it is not solved.

    Goes on for a few steps after success, so that the demonstration shows the solved task.
    """
    draw = noise()
    seen: list[Seen] = []
    actions: list[np.ndarray] = []
    stages: list[Meant] = []
    steps_left, solved = max_steps, False
    while steps_left > 0:
        seen.append(look())
        action, stage = decide()
        actions.append(action)
        stages.append(stage)
        executed = action.copy()
        executed[list(motion)] += draw.normal(0.0, deviation, len(motion))
        success = env.step(executed)
        steps_left -= 1
        if success and not solved:
            solved = True
            steps_left = min(steps_left, steps_after_success - 1)
    if not solved:
        return None
    return Followed(seen=tuple(seen), actions=np.array(actions, np.float32), stages=tuple(stages))
