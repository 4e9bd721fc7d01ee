"""How fast rollouts go and what they spend their time on."""

from __future__ import annotations

from dataclasses import dataclass, field

from phaser.evaluation.messages import Spent


@dataclass(frozen=True, kw_only=True, slots=True)
class Throughput:
    """Counts and seconds of an evaluation so far."""

    episodes: int = 0
    planned: int = 0
    elapsed_s: float = 0.0
    policy_s: float = 0.0
    spent: Spent = field(default_factory=Spent)
    """What all simulators together spent."""

    @property
    def episodes_per_s(self) -> float:
        return self.episodes / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest takes at the speed so far; None before the first rollout ended."""
        if not self.episodes:
            return None
        return self.elapsed_s / self.episodes * (self.planned - self.episodes)

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the working time of all simulators and the policy, which work side by side."""
        seconds = {
            "physics": self.spent.physics_s,
            "rendering": self.spent.rendering_s,
            "policy": self.policy_s,
        }
        total = sum(seconds.values())
        return {name: one / total if total else 0.0 for name, one in seconds.items()}

    @property
    def amounts(self) -> dict[str, float]:
        """The numbers that timing.json stores: seconds on the clock, and rollouts."""
        return {
            "rollouts": float(self.episodes),
            "rollout_clock_s": self.elapsed_s,
            "rollout_physics_s": self.spent.physics_s,
            "rollout_rendering_s": self.spent.rendering_s,
            "rollout_policy_s": self.policy_s,
        }
