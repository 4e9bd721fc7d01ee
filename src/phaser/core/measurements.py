"""What a sampler asked of the policy while a task was learnt, and what asking cost.

The weights of a step are gone once it is trained, so answers cannot be had again: they are part of
every checkpoint. With them, the frames of a step depend on (seed, task, step) and on what is on
disk, and a resumed task rehearses what it would have rehearsed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Float64, Int64

from phaser.core.errors import BadInput


@dataclass(frozen=True, kw_only=True, slots=True)
class Passes:
    """What measuring cost a task beside its training: passes over a batch, for overhead tables."""

    forward: int = 0
    backward: int = 0
    frames: int = 0
    """Stored frames that went through a forward pass, counted each time."""


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """Answers by the step they were given at; all of one task have the same length."""

    by_step: dict[int, Float64[np.ndarray, "count"]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.by_step)

    def at(
        self, step: int, *, now: int, measure: Callable[[], Float[np.ndarray, "count"]]
    ) -> Float64[np.ndarray, "count"]:
        """The answer of that step: remembered, or measured if that step is now."""
        if step not in self.by_step:
            if step != now:
                raise BadInput(
                    f"step {now} draws by what was measured at step {step}, which is not known; "
                    "resume from a saved state, not from a step number alone"
                )
            self.by_step[step] = _checked(measure())
        return self.by_step[step]

    def arrays(self) -> tuple[Int64[np.ndarray, "steps"], Float64[np.ndarray, "steps count"]]:
        """Steps and answers, for a checkpoint."""
        answers = np.stack([*self.by_step.values()]) if self.by_step else np.zeros((0, 0))
        return np.array([*self.by_step], np.int64), answers

    def restore(
        self, steps: Int64[np.ndarray, "steps"], answers: Float64[np.ndarray, "steps count"]
    ) -> None:
        """Take up what a checkpoint holds."""
        self.by_step.update(zip(steps.tolist(), answers, strict=True))


def _checked(answer: Float[np.ndarray, "count"]) -> Float64[np.ndarray, "count"]:
    if not np.isfinite(answer).all():
        raise BadInput("the policy's loss on stored frames is NaN or infinite; training diverged")
    return np.asarray(answer, dtype=np.float64)
