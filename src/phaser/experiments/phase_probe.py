"""Held-out action loss of every phase: which sub-skills are lost, before any rollout is spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.memory import PhaseId
from phaser.experiments.learner import PolicyLearner
from phaser.experiments.prepare import TaskMaterial


def phase_loss_rows(
    materials: Sequence[TaskMaterial], learner: PolicyLearner, *, after: str, after_index: int
) -> list[dict[str, Any]]:
    """One row per phase of every task learnt so far, from demonstrations never trained on."""
    rows = []
    for task_index, made in enumerate(materials):
        for phase in made.prepared.phase_ids():
            refs = _frames(made, phase)
            rows.append(
                {
                    "after_task": after,
                    "after_index": after_index,
                    "task": phase.task,
                    "task_index": task_index,
                    "phase_index": phase.index,
                    "phase": phase.label,
                    "phase_share": len(refs) / made.heldout.num_frames,
                    "loss": float(np.mean(learner.frame_losses(refs))),
                    "num_frames": len(refs),
                }
            )
    return rows


def _frames(made: TaskMaterial, phase: PhaseId) -> list[FrameRef]:
    demos = zip(made.heldout.lengths, made.heldout_segmentations, strict=True)
    return [
        FrameRef(phase.task, demo, frame)
        for demo, cut in demos
        for frame in range(cut.phases[phase.index].start, cut.phases[phase.index].stop)
    ]
