"""One simulated LIBERO robot as a policy meets it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Task
from phaser.core.policy import Observation
from phaser.core.suite import Env
from phaser.suites.libero.predicates import Truth
from phaser.suites.libero.progress import Milestones
from phaser.suites.libero.protocol import Protocol
from phaser.suites.libero.simulator import Control, Simulator


class LiberoEnv(Env):
    """A task of LIBERO under a protocol; a seed is the number of an official initial state."""

    def __init__(
        self, task: Task, protocol: Protocol, *, assets: Path, control: Control = "compiled"
    ) -> None:
        self.task, self.protocol = task, protocol
        self.simulator = Simulator(task, protocol, assets=assets, control=control)
        self._limit = protocol.step_limit(self.simulator.suite)
        self._steps = 0

    def reset(self, seed: int) -> Observation:
        self.place(seed)
        return self.observe()

    def place(self, seed: int) -> None:
        """Reset without drawing."""
        self.simulator.place(seed)
        self.truth = Truth(self.simulator.domain)
        self._milestones = Milestones(self.truth)
        self._steps = 0

    def step(self, action: Float[np.ndarray, "action"]) -> bool:
        """One control step (1/20 s); whether the episode counts as solved at its end."""
        fulfilled = self.simulator.step(self.protocol.command(action))
        self._milestones.update()
        self._steps += 1
        return fulfilled and (self.protocol.success == "once" or self._steps >= self._limit)

    def observe(self) -> Observation:
        return Observation(
            images=self.simulator.images(),
            state=self.simulator.state().astype(np.float32),
            instruction=self.task.instruction,
        )

    def milestones(self) -> tuple[tuple[str, bool], ...]:
        """Sub-goals of the task in their order, and whether each was ever reached so far."""
        return self._milestones.reached()

    def physics(self) -> Float[np.ndarray, "numbers"]:
        return self.simulator.physics()

    def close(self) -> None:
        self.simulator.close()
