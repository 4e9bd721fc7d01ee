"""Rehearse the phases that the current task is most likely to overwrite (paper 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Routed(Draw):
    """Multi-modal interference routing: Boltzmann over the priorities of the stored phases."""

    temperature: float = 0.25
    """τ of the paper."""
    language_share: float = 0.5
    """α of the paper: language against vision in the context overlap."""
    redundancy_penalty: float = 0.5
    """γ of the paper: how much a phase that moves alike is pushed down."""
    over_current_phases: Literal["max", "mean", "softmax"] = "max"
    """A stored phase meets every phase of the current task; the paper leaves open which counts.
    "softmax" lies between the two: a mean that weighs each by exp(priority / temperature)."""
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
        if self.over_current_phases not in ("max", "mean", "softmax"):
            raise BadInput(
                f"over_current_phases {self.over_current_phases!r}; "
                "expected 'max', 'mean' or 'softmax'"
            )

    @property
    def needs_prototypes(self) -> bool:
        return True

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> WeightedSampler:
        priorities = self._priorities(memory, task)
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

    def _priorities(self, memory: Memory, task: PreparedTask) -> Float[np.ndarray, "buckets"]:
        if not memory.buckets:
            return np.zeros(0)
        new = Phases.of(task.prototypes)
        past = Phases.stored(memory)
        scores = priority(
            context_overlap(
                past,
                new,
                language_share=self.language_share,
                centre_vision=self.centre_vision,
            ),
            action_divergence(
                past,
                new,
                motion_only=self.motion_only,
                normalise=self.normalise_actions,
            ),
            redundancy_penalty=self.redundancy_penalty,
        )
        if self.over_current_phases == "softmax":
            shares = np.stack([boltzmann(row, self.temperature) for row in scores])
            return np.asarray((shares * scores).sum(axis=1))
        return np.asarray(
            scores.max(axis=1) if self.over_current_phases == "max" else scores.mean(axis=1)
        )
