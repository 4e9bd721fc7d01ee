"""A memory for tests with real datasets, whose encoders need no weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from phaser import Replay


def plain_memory(folder: Path, *, keep_frames: int = 12, **settings: Any) -> Replay:
    return Replay(
        folder,
        budget=keep_frames,
        language=lambda text: np.ones(4),
        vision=lambda images: images.reshape(len(images), -1, 3).mean(axis=1),
        **settings,
    )
