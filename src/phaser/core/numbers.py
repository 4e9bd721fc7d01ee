"""Whole numbers as users give them: Python's and numpy's alike, within a range that is told."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_whole(value: Any) -> int | None:
    """The integer that a value is; None for fractions, text, True, None and all else."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        return None
    return int(value)
