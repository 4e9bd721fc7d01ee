"""Check a segmenter: one segmentation per demonstration, the same phases in each, repeatable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phaser.core.demonstration import Demo
from phaser.core.ports import Segmenter
from phaser.testing.made_up import made_up_demos
from phaser.testing.verdict import require


def check_segmenter(segmenter: Segmenter, demos: Sequence[Demo] | None = None) -> None:
    """Segment demonstrations of one task and hold the outcome against the port's promises."""
    require(
        isinstance(segmenter, Segmenter),
        segmenter,
        "lacks part of the port: inherit from phaser.core.ports.Segmenter",
    )
    demos = made_up_demos() if demos is None else demos
    before = [demo.actions.copy() for demo in demos]
    found = segmenter.segment(demos)
    require(
        len(found) == len(demos),
        segmenter,
        f"{len(found)} segmentations for {len(demos)} demonstrations",
    )
    for demo, cut in zip(demos, found, strict=True):
        require(
            cut.num_frames == demo.num_frames,
            segmenter,
            f"demonstration {demo.index} has {demo.num_frames} frames, "
            f"its segmentation {cut.num_frames}",
        )
        require(
            cut.labels == found[0].labels,
            segmenter,
            f"demonstration {demo.index} has phases {cut.labels}, the first {found[0].labels}; "
            "expected the same for all",
        )
    require(segmenter.segment(demos) == found, segmenter, "cut the same demonstrations differently")
    require(
        all(np.array_equal(a, demo.actions) for a, demo in zip(before, demos, strict=True)),
        segmenter,
        "changed the demonstrations' actions",
    )
