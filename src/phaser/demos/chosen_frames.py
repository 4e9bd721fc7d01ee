"""Some frames of a demonstration: their images numbered anew, and actions paired with what was
seen before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import UInt8

from phaser.core.demonstration import Demo, Images
from phaser.core.errors import BadInput


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptImages:
    """Some of a camera's frames, numbered anew; read on demand."""

    images: Images
    frames: Sequence[int]

    def __len__(self) -> int:
        return len(self.frames)

    def read(self, frames: Sequence[int]) -> UInt8[np.ndarray, "count height width 3"]:
        if any(not 0 <= frame < len(self) for frame in frames):
            raise BadInput(f"frames {list(frames)} of {len(self)}; expected 0 to {len(self) - 1}")
        return self.images.read([self.frames[frame] for frame in frames])


def seen_before_acting(demo: Demo) -> Demo:
    """Pair every action with what was seen before it, where a file stores what was seen after it.

    Frame t of such a file shows what action t led to: it is what action t + 1 answers. Nothing
    shows what the first action answered, so it goes, and with it the last frame.
    """
    if demo.num_frames < 2:
        raise BadInput(
            f"demonstration {demo.index} of {demo.task!r} has 1 frame, seen after its action; "
            "expected at least 2; remove it"
        )
    seen = range(demo.num_frames - 1)
    return replace(
        demo,
        actions=demo.actions[1:],
        states=demo.states[:-1],
        cameras={
            name: KeptImages(images=images, frames=seen) for name, images in demo.cameras.items()
        },
    )
