"""Rehearse the phases that the current task is most likely to overwrite (paper 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Draw, Probe
from phaser.core.ranges import AMOUNT, SHARE, check_ranges
from phaser.core.streams import Stream
from phaser.routing.boltzmann import boltzmann
from phaser.routing.priority import Phases, action_divergence, context_overlap, priority
from phaser.routing.samplers import (
    WeightedSampler,
    mixed_sampler,
    uniform_over_frames,
)

OverCurrent = Literal["max", "mean", "softmax", "closest"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Routed(Draw):
    """Multi-modal interference routing: Boltzmann over the priorities of the stored phases."""

    temperature: float = 0.25
    """τ of the paper."""
    language_share: float = 0.5
    """α of the paper: language against vision in the context overlap."""
    redundancy_penalty: float = 0.5
    """γ of the paper: how much a phase that moves alike is pushed down."""
    over_current_phases: OverCurrent = "max"
    """A stored phase meets every phase of the current task; the paper leaves open which counts.
    "softmax" lies between the two: a mean that weighs each by exp(priority / temperature).
    "closest": the priority at the current phase that shares most context with the stored one."""
    uniform_share: float = 0.5
    """Share of the draws that ignores the priorities, so that no phase is given up."""
    centre_vision: bool = True
    """Subtract the mean visual prototype of all compared phases first."""
    motion_only: bool = True
    """Compare the motion alone; the gripper's constant command would dominate a mean."""
    normalise_actions: bool = False
    """Divide every action dimension by its largest mean over the compared phases, so that all count
    alike; the paper says that its signature is normalised, not how."""
    weigh_by_size: bool = False
    """Multiply a bucket's weight by its frames; matters where buckets differ in size."""

    def __post_init__(self) -> None:
        check_ranges(
            self,
            temperature=AMOUNT,
            language_share=SHARE,
            redundancy_penalty=AMOUNT,
            uniform_share=SHARE,
        )
        if self.over_current_phases not in get_args(OverCurrent):
            raise BadInput(
                f"over_current_phases {self.over_current_phases!r}; expected one of "
                f"{', '.join(get_args(OverCurrent))}"
            )

    @property
    def needs_prototypes(self) -> bool:
        return True

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> WeightedSampler:
        priorities = self.priorities(memory, task)
        probabilities = boltzmann(priorities, self.temperature)
        if self.weigh_by_size and memory.buckets:
            probabilities = probabilities * uniform_over_frames(memory)
            probabilities = probabilities / probabilities.sum()
        return mixed_sampler(
            memory,
            probabilities,
            priorities=priorities,
            uniform_share=self.uniform_share,
            stream=stream,
        )

    def priorities(self, memory: Memory, task: PreparedTask) -> Float[np.ndarray, "buckets"]:
        """How much each stored phase is endangered by a task, before it is learnt."""
        if not memory.buckets:
            return np.zeros(0)
        new = Phases.of(task.prototypes)
        past = Phases.stored(memory)
        context = context_overlap(
            past, new, language_share=self.language_share, centre_vision=self.centre_vision
        )
        divergence = action_divergence(
            past, new, motion_only=self.motion_only, normalise=self.normalise_actions
        )
        scores = priority(context, divergence, redundancy_penalty=self.redundancy_penalty)
        return self._over_current(scores, context)

    def _over_current(
        self,
        scores: Float[np.ndarray, "buckets current"],
        context: Float[np.ndarray, "buckets current"],
    ) -> Float[np.ndarray, "buckets"]:
        """One priority of each stored phase from those that it has for every current phase."""
        if self.over_current_phases == "closest":
            nearest = context.argmax(axis=1)[:, None]
            return np.asarray(np.take_along_axis(scores, nearest, axis=1)[:, 0])
        if self.over_current_phases == "softmax":
            shares = np.stack([boltzmann(row, self.temperature) for row in scores])
            return np.asarray((shares * scores).sum(axis=1))
        return np.asarray(
            scores.max(axis=1) if self.over_current_phases == "max" else scores.mean(axis=1)
        )
