"""How far a rollout came: which of its task's milestones were ever reached, in order."""

from __future__ import annotations

from phaser.suites.libero.predicates import Truth


class Milestones:
    """Watches one episode; a new episode gets a new one."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._reached = [False] * len(truth.names)

    def update(self) -> None:
        """To be called after every control step."""
        for position, true in enumerate(self._truth.now()):
            self._reached[position] |= true

    def reached(self) -> tuple[tuple[str, bool], ...]:
        """Every milestone in the order a demonstration reaches them, and whether it was reached."""
        return tuple(zip(self._truth.names, self._reached, strict=True))
