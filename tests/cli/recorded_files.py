"""A LIBERO file whose events are known: an approach, a grasp after it, a carrying motion."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
from synthetic import scripted_demo

PACES = ((40, 20, 40), (44, 20, 42), (30, 20, 50))
GRASPS = [approach for approach, _, _ in PACES]


def write_grasps(
    path: Path,
    *,
    paces=PACES,
    name: str = "put_the_cup_on_the_shelf",
    words: str = "put the cup on the shelf",
    images: bool = True,
    closing: float = 1.0,
) -> Path:
    """Seven numbers per action, as LIBERO has; the gripper closes when the approach ends."""
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["problem_info"] = json.dumps({"language_instruction": words})
        data.attrs["bddl_file_name"] = f"libero/{name}.bddl"
        data.attrs["num_demos"] = len(paces)
        for number, lengths in enumerate(paces):
            moves = scripted_demo(lengths).actions
            actions = np.zeros((len(moves), 7))
            actions[:, :3], actions[:, 6] = moves[:, :3], closing * moves[:, 3]
            demo = data.create_group(f"demo_{number}")
            demo["actions"] = actions
            demo["states"] = np.zeros((len(moves), 9))
            if images:
                frames = np.arange(len(moves), dtype=np.uint8)[:, None, None, None]
                pixels = np.broadcast_to(frames, (len(moves), 12, 16, 3))
                demo.create_group("obs").create_dataset("agentview_rgb", data=pixels)
    return path
