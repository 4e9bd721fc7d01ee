"""Held-out action loss of every phase: which sub-skills are lost, before any rollout is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import FrameRef
from phaser.core.memory import PhaseId
from phaser.core.segmentation import Segmentation
from phaser.training.frames import TaskFrames

FrameLosses = Callable[[Sequence[FrameRef]], Float[np.ndarray, "count"]]
"""Losses of single frames under the policy as it is."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeldoutPhases:
    """The held-out demonstrations of one task, cut into the task's phases."""

    phases: tuple[PhaseId, ...]
    frames: TaskFrames
    segmentations: Mapping[int, Segmentation]
    """By the number of a demonstration."""

    def refs(self, phase: PhaseId) -> list[FrameRef]:
        """All held-out frames of a phase."""
        return [
            FrameRef(phase.task, demo, frame)
            for demo, cut in self.segmentations.items()
            for frame in cut.frames_of(phase.label)
        ]


def phase_loss_rows(
    learnt: Mapping[int, HeldoutPhases], losses: FrameLosses, *, after: str, after_index: int
) -> list[dict[str, Any]]:
    """One row per phase of every learnt task, by the tasks' places in the stream.

    A phase that people found in no held-out demonstration has no loss, and no row.
    """
    rows = []
    for task_index, heldout in learnt.items():
        for phase in heldout.phases:
            refs = heldout.refs(phase)
            if not refs:
                continue
            rows.append(
                {
                    "after_task": after,
                    "after_index": after_index,
                    "task": phase.task,
                    "task_index": task_index,
                    "phase_index": phase.index,
                    "phase": phase.label,
                    "phase_share": len(refs) / heldout.frames.num_frames,
                    "loss": float(np.mean(losses(refs))),
                    "num_frames": len(refs),
                }
            )
    return rows
