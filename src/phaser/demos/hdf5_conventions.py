"""Conventions of an HDF5 file that nobody should have to guess: which way is up, and whether frame
t was seen before action t or after it.

robomimic stores what was seen before each action. LIBERO's script (scripts/create_dataset.py)
carries action t out first and stores what is seen then, beside the simulator's state before it. So
a file with both tells by itself: the arm's joints that were seen are those of the simulator's state
at the same step, or of the next one. Where a file lacks one of them, its author decides: LIBERO's
script names the task's BDDL file, and nobody else's does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.demos import hdf5_guard as guard

JOINTS = ("obs/joint_states", "obs/robot0_joint_pos")
"""The arm's seven joints as they were seen: LIBERO's name, then robomimic's."""
FIRST_JOINT = 1
"""Their place in a flattened state of the simulator: after the time."""
NUM_JOINTS = 7
CLEARLY = 0.5
"""One reading is taken where it fits at least twice as well as the other."""


def stored_upside_down(path: Path) -> bool:
    """True where the file says that the rows of its images run from bottom to top (OpenGL)."""
    with guard.OPEN.borrowed(path) as file:
        data = guard.group(file.root, "data", path)
        return guard.text(data, "macros_image_convention", path) == "opengl"


def observed_after_action(path: Path) -> bool:
    """True where frame t shows what action t led to."""
    with guard.OPEN.borrowed(path) as file:
        data = guard.group(file.root, "data", path)
        for name in data:
            measured = _measured(guard.group(data, name, path), path)
            if measured is not None:
                return measured
        return "bddl_file_name" in data.attrs


def _measured(demo: Any, path: Path) -> bool | None:
    """The answer of one demonstration; none where it lacks an array, or both readings fit."""
    joints = next((key for key in JOINTS if guard.find(demo, key, path) is not None), None)
    if joints is None or guard.find(demo, "states", path) is None:
        return None
    seen, states = (_rows(demo, key, path) for key in (joints, "states"))
    wide_enough = states.shape[1] >= FIRST_JOINT + NUM_JOINTS and seen.shape[1] == NUM_JOINTS
    if not wide_enough or len(seen) != len(states) or len(seen) < 2:
        return None
    simulated = states[:, FIRST_JOINT : FIRST_JOINT + NUM_JOINTS]
    before = float(np.abs(seen[:-1] - simulated[:-1]).mean())
    after = float(np.abs(seen[:-1] - simulated[1:]).mean())
    if not min(before, after) < CLEARLY * max(before, after):
        return None
    return after < before


def _rows(demo: Any, key: str, path: Path) -> Float[np.ndarray, "frames size"]:
    stored = guard.array(demo, key, path)
    values = np.asarray(guard.rows(stored, slice(None), path), np.float64)
    return values.reshape(len(values), -1)
