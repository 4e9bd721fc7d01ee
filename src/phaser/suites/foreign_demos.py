"""Demonstrations that others recorded, as a task of a suite shows them to a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.demos.chosen_frames import seen_before_acting
from phaser.demos.resized import SizedImages
from phaser.suites.libero.demonstrations import without_no_ops

MIN_FRAMES = 2
Observed = Literal["by-file", "before", "after"]
"""When frame t was seen: before action t, after it, or as each file shows."""
FOREIGN = "recorded elsewhere; not compared with what this machine draws"
"""Said in the contract, because this machine may be unable to draw such pixels again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How every demonstration of a source is read; images stay in their files."""

    task: str
    """The task's name in the suite."""
    source: str
    """Where it comes from, for messages."""
    cameras: Mapping[str, str]
    """The source's name of each camera, by the suite's name of it."""
    image_size: tuple[int, int]
    """Height and width."""
    resize: bool
    """Bring images of other sizes to it; else they are refused."""
    after_action: bool
    """The source shows at each step what its action led to, so actions are paired anew."""
    drop_no_ops: bool

    def __call__(self, demo: Demo) -> Demo:
        where = f"{self.source}: demonstration {demo.index}"
        missing = [name for name in self.cameras.values() if name not in demo.cameras]
        if missing:
            raise BadInput(
                f"{where} has no camera {missing[0]!r}; it has "
                f"{', '.join(demo.cameras) or 'no images'}"
            )
        demo = replace(
            demo,
            task=self.task,
            cameras={ours: demo.cameras[theirs] for ours, theirs in self.cameras.items()},
        )
        _require_frames(demo, MIN_FRAMES + self.after_action, where)
        if self.after_action:
            demo = seen_before_acting(demo)
        if self.drop_no_ops:
            demo = without_no_ops(demo)
            _require_frames(demo, MIN_FRAMES, f"{where}, without its no-ops,")
        return replace(
            demo,
            cameras={
                name: SizedImages(
                    images=images, size=self.image_size, resize=self.resize, where=where
                )
                for name, images in demo.cameras.items()
            },
        )


def _require_frames(demo: Demo, fewest: int, where: str) -> None:
    if demo.num_frames < fewest:
        frames = "1 frame" if demo.num_frames == 1 else f"{demo.num_frames} frames"
        raise BadInput(f"{where} has {frames}; expected at least {fewest}; remove it")
