"""How one task is learnt: half current, half rehearsed frames per batch, AdamW, cosine at the end.

`Fit` holds the settings and says what a step trains on and at which rate; the loop over the steps
is in `training/learner.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.policy import Policy
from phaser.core.ports import Sampler
from phaser.core.ranges import (
    AMOUNT,
    COUNT,
    COUNT_OR_ZERO,
    POSITIVE,
    SHARE,
    Range,
    above,
    check_ranges,
)
from phaser.core.streams import Stream

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """How one task is learnt. The batch of a step depends on (seed, task, step) alone."""

    steps_per_task: int = 300
    """Training steps of each task."""
    batch_size: int = 64
    """Frames of a batch, over all processes."""
    rehearsed_share: float = 0.5
    """Share of a batch that comes from memory, once there is one."""
    learning_rate: float = 2e-3
    """The largest step size of AdamW."""
    weight_decay: float = 1e-4
    """How strongly AdamW pulls weights towards zero."""
    decay_after: float = 0.5
    """Constant learning rate up to this share of the steps, cosine to zero after it."""
    warm_up: float = 0.1
    """Share of the steps in which the learning rate rises from zero; 0 in version 0.1.0."""
    average_last: float = 0.0
    """Share of the steps, the last ones, over which weights are averaged at the end of a task."""
    keep_moments: bool = False
    """Carry AdamW's moments over to the next task instead of beginning with none."""
    gradient_clip: float | None = None
    """The largest norm of a step's gradient; none: as it is."""
    gradient_accumulation: int = 1
    """Parts of a process's batch that pass one after the other: less memory, the same gradient but
    for rounding."""
    read_ahead: int = 0
    """Steps whose inputs another thread builds while the policy computes; changes nothing else. A
    draw that asks the policy is never ahead."""
    checkpoint_every_steps: int = 100
    """How much of a task a killed run may lose; changes nothing else."""

    def __post_init__(self) -> None:
        check_ranges(
            self,
            steps_per_task=COUNT,
            batch_size=COUNT,
            rehearsed_share=Range(low=0, high=1, without_high=True),
            learning_rate=POSITIVE,
            weight_decay=AMOUNT,
            decay_after=SHARE,
            warm_up=SHARE,
            average_last=SHARE,
            gradient_clip=above(0, or_none=True),
            gradient_accumulation=COUNT,
            read_ahead=COUNT_OR_ZERO,
            checkpoint_every_steps=COUNT,
        )

    @property
    def num_rehearsed(self) -> int:
        """Rehearsed frames of a batch, once there is a memory."""
        return round(self.batch_size * self.rehearsed_share)

    def check_split(self, num_processes: int) -> None:
        """Refuse a batch whose parts would be of different sizes: their mean would be another."""
        parts = num_processes * self.gradient_accumulation
        if self.batch_size % parts:
            raise BadInput(
                f"batch_size {self.batch_size} over {num_processes} processes with "
                f"gradient_accumulation {self.gradient_accumulation}; expected a multiple of "
                f"{parts}"
            )

    def refs_of_step(
        self, step: int, current: Sequence[FrameRef], sampler: Sampler, stream: Stream
    ) -> list[FrameRef]:
        """The global batch of one step: rehearsed frames first, the rest from the current task."""
        rehearsed = sampler.next(self.num_rehearsed, step)
        return [*rehearsed, *self.current_of_step(step, current, stream, len(rehearsed))]

    def current_of_step(
        self, step: int, current: Sequence[FrameRef], stream: Stream, num_rehearsed: int
    ) -> list[FrameRef]:
        """The current task's frames of a step; they do not depend on which frames it rehearses."""
        chosen = stream.at_step(step).integers(len(current), size=self.batch_size - num_rehearsed)
        return [current[k] for k in chosen]

    def optimizer(self, policy: Policy) -> torch.optim.Optimizer:
        """AdamW over the policy's groups of weights, with the settings that the policy names."""
        import torch

        groups = [
            {
                "params": list(group.parameters),
                "scale": group.learning_rate_scale,
                "weight_decay": self.weight_decay
                if group.weight_decay is None
                else group.weight_decay,
                "betas": group.betas,
            }
            for group in policy.parameter_groups()
        ]
        return torch.optim.AdamW(groups, lr=self.learning_rate, fused=True)

    def set_rate(self, optimizer: torch.optim.Optimizer, step: int, steps: int) -> None:
        """Set the learning rate of a step. By hand: Accelerate's schedulers step once per process,
        which would change the curve."""
        for group in optimizer.param_groups:
            group["lr"] = self.learning_rate * self._rate(step, steps) * group["scale"]

    def averages(self, step: int, steps: int) -> bool:
        """True where the weights after a step count for the mean."""
        return step >= steps - round(self.average_last * steps)

    def _rate(self, step: int, steps: int) -> float:
        """Share of the learning rate: linear warm-up, constant, cosine to zero."""
        rising = self.warm_up * steps
        if step < rising:
            return (step + 1) / (rising + 1)
        start = self.decay_after * steps
        if step <= start:
            return 1.0
        return 0.5 * (1 + math.cos(math.pi * (step - start) / (steps - start)))
