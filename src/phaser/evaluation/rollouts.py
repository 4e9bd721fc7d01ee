"""Rollouts on fixed initial states: one lane per task, the policy asked for all lanes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Task
from phaser.core.ports import Env, Observation, Policy
from phaser.core.streams import Stream, Streams


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """One rollout: which initial state, whether it was solved, after how many steps."""

    task: str
    env_seed: int
    success: bool
    steps: int


@dataclass(kw_only=True, slots=True, eq=False)
class Lane:
    """Episodes of one task, run one after the other in one simulator."""

    task: Task
    env: Env
    horizon: int
    env_seeds: Sequence[int]
    observation: Observation | None = field(default=None, init=False)
    _next: int = field(default=0, init=False)
    _steps: int = field(default=0, init=False)

    def start(self) -> bool:
        """Put the simulator into the next initial state; False when none is left."""
        if self._next == len(self.env_seeds):
            self.observation = None
            return False
        self.observation = self.env.reset(self.env_seeds[self._next])
        self._next += 1
        self._steps = 0
        return True

    def noise(self, streams: Streams) -> Stream:
        """Depends on task, initial state and step only, not on what else is being run."""
        return streams.named("act", self.task.name, self._seed, self._steps)

    def execute(self, chunk: Float[np.ndarray, "chunk action"]) -> Episode | None:
        """Carry out a chunk open loop; the episode if it ended, at success or at the horizon."""
        for action in chunk:
            success = self.env.step(action)
            self._steps += 1
            if success or self._steps >= self.horizon:
                return Episode(
                    task=self.task.name, env_seed=self._seed, success=success, steps=self._steps
                )
        self.observation = self.env.observe()
        return None

    @property
    def _seed(self) -> int:
        return self.env_seeds[self._next - 1]


def rollouts(
    policy: Policy,
    lanes: Sequence[Lane],
    streams: Streams,
    *,
    finished: Callable[[Episode], None] | None = None,
) -> list[Episode]:
    """Run every episode of every lane; lanes advance together, so that the policy sees a batch."""
    episodes: list[Episode] = []
    running = [lane for lane in lanes if lane.start()]
    while running:
        observations = [lane.observation for lane in running if lane.observation is not None]
        chunks = policy.act(observations, [lane.noise(streams) for lane in running])
        ended = []
        for lane, chunk in zip(running, chunks, strict=True):
            episode = lane.execute(chunk)
            if episode is None:
                continue
            episodes.append(episode)
            if finished is not None:
                finished(episode)
            if not lane.start():
                ended.append(lane)
        running = [lane for lane in running if lane not in ended]
    return episodes
