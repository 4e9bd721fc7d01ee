"""The policy's own features as the sight of phases: the paper's choice for OpenVLA.

The features change as the policy learns, so stored phases and new ones are described anew, by the
policy as it is, whenever a task begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float

from phaser.core.demonstration import FrameRef
from phaser.core.memory import Memory, PreparedTask
from phaser.core.policy import NotOffered
from phaser.methods.evaluating import evaluating
from phaser.training.learner import PROBE_BATCH, PolicyLearner
from phaser.training.stream import Describe

FRAMES_PER_PHASE = 64
"""A mean over more frames of one phase hardly moves, and each one costs a pass."""


def sight_of_policy(learner: PolicyLearner) -> Describe:
    """Describes phases by the features of this learner's policy."""
    if "features" not in learner.policy.offers:
        raise NotOffered(learner.policy, "features", rule="the vision encoder 'policy'")

    def describe(memory: Memory, task: PreparedTask) -> tuple[Memory, PreparedTask]:
        stored = [
            replace(
                bucket,
                prototype=replace(bucket.prototype, vision=_mean(learner, bucket.frames)),
            )
            for bucket in memory.buckets
        ]
        new = [
            replace(prototype, vision=_mean(learner, _frames(task, label)))
            for label, prototype in zip(task.labels, task.prototypes, strict=True)
        ]
        return Memory(tuple(stored)), replace(task, prototypes=tuple(new))

    return describe


def _frames(task: PreparedTask, label: str) -> list[FrameRef]:
    return [
        FrameRef(task.task.name, demo.index, frame)
        for demo, cut in zip(task.demos, task.segmentations, strict=True)
        for frame in cut.frames_of(label)
    ]


@torch.no_grad()
def _mean(learner: PolicyLearner, refs: Sequence[FrameRef]) -> Float[np.ndarray, "width"]:
    """The mean features of up to 64 of these frames, evenly spread."""
    count = min(FRAMES_PER_PHASE, len(refs))
    chosen = [refs[at] for at in np.linspace(0, len(refs) - 1, count).round().astype(int)]
    policy, parts = learner.policy, []
    with evaluating(policy):
        for start in range(0, len(chosen), PROBE_BATCH):
            samples = learner.frames.samples(chosen[start : start + PROBE_BATCH])
            parts.append(policy.features(policy.batch(samples)))
    mean: Float[np.ndarray, "width"] = torch.cat(parts).double().mean(0).cpu().numpy()
    return mean
