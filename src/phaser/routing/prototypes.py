"""Prototypes of a task's phases: P = (e_L, e_V, e_A), paper 3.3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.core.memory import FrameFeatures, Prototype
from phaser.core.segmentation import Segmentation, phase_names


def prototypes(
    demos: Sequence[Demo],
    segmentations: Sequence[Segmentation],
    *,
    instruction_embedding: Float[np.ndarray, "language"],
    frame_features: FrameFeatures,
) -> tuple[Prototype, ...]:
    """One prototype per phase; means run over all frames of the phase in all demonstrations.

    Every frame counts the same, so a long demonstration weighs more than a short one. Actions stay
    raw and whole: which dimensions to compare, and how, belongs to the scoring rule.
    """
    features = [_features(demo, frame_features) for demo in demos]
    return tuple(
        Prototype(
            language=np.asarray(instruction_embedding),
            vision=_phase_mean(features, segmentations, label),
            action=_phase_mean([demo.actions for demo in demos], segmentations, label),
            motion=demos[0].layout.motion,
        )
        for label in phase_names(segmentations)
    )


def _features(demo: Demo, frame_features: FrameFeatures) -> Float[np.ndarray, "frames vision"]:
    features = frame_features(demo)
    if features.ndim != 2 or len(features) != demo.num_frames:
        raise BadInput(
            f"demonstration {demo.index} of {demo.task!r} has {demo.num_frames} frames, "
            f"its visual features shape {features.shape}; expected one row per frame"
        )
    return features


def _phase_mean(
    values: Sequence[Float[np.ndarray, "_ dims"]], segmentations: Sequence[Segmentation], label: str
) -> Float[np.ndarray, "dims"]:
    rows = [one[cut.frames_of(label)] for one, cut in zip(values, segmentations, strict=True)]
    mean: Float[np.ndarray, "dims"] = np.concatenate(rows).astype(np.float64).mean(axis=0)
    return mean
