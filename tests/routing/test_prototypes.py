"""Prototypes: means over the frames of a phase in all demonstrations."""

import numpy as np
import pytest
from synthetic import scripted_demo

from phaser.core.errors import BadInput
from phaser.core.segmentation import Segmentation
from phaser.routing.prototypes import prototypes

DEMOS = [scripted_demo((2, 1, 1), index=0), scripted_demo((4, 1, 1), index=1)]
SEGMENTATIONS = [
    Segmentation.from_boundaries([demo.num_frames - 2], num_frames=demo.num_frames, labels="ab")
    for demo in DEMOS
]


def frame_numbers(demo):
    return np.arange(demo.num_frames, dtype=np.float32)[:, None]


def test_every_frame_of_the_phase_counts_once():
    first, second = prototypes(
        DEMOS, SEGMENTATIONS, instruction_embedding=np.ones(3), frame_features=frame_numbers
    )
    assert first.vision == pytest.approx((0 + 1 + 0 + 1 + 2 + 3) / 6)
    assert second.vision == pytest.approx((2 + 3 + 4 + 5) / 4)
    # Half of the second phase stands still, half moves by (0, 1, 1); the gripper is closed.
    np.testing.assert_allclose(second.action, [0, 0.5, 0.5, 1])
    assert first.motion == (0, 1, 2)
    np.testing.assert_array_equal(first.language, np.ones(3))


def test_features_that_miss_frames_are_refused():
    with pytest.raises(BadInput, match="one row per frame"):
        prototypes(
            DEMOS,
            SEGMENTATIONS,
            instruction_embedding=np.ones(3),
            frame_features=lambda demo: np.zeros((1, 2)),
        )
