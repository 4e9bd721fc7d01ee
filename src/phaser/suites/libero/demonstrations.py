"""LIBERO's demonstrations as they were published: what each source does to images and gripper.

The official HDF5 files show the scene upside down and close the gripper with +1. OpenVLA turned
their images by 180 degrees, which mirrors the scene, left out no-ops, and its training code maps
the gripper to 0 (close) and 1 (open); the LeRobot ports were made before or after that mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from phaser.core.demonstration import ActionLayout, Demo, Images
from phaser.core.errors import BadInput, UnknownName
from phaser.demos.chosen_frames import KeptImages

STILL = 1e-4
"""OpenVLA's threshold on the norm of the commanded motion."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """How one published form of LIBERO's demonstrations stores what they show."""

    layout: str
    """Name of the action layout, which also says which way the gripper closes."""
    upright: str
    """The turn that shows the scene as a camera would."""
    cameras: tuple[str, str]
    """Third person and wrist."""
    state: tuple[str, ...]
    """HDF5 arrays or the LeRobot column that hold position, axis-angle and both fingers."""
    has_no_ops: bool


SOURCES = {
    "hdf5": Source(
        layout="libero",
        upright="flip-vertical",
        cameras=("agentview_rgb", "eye_in_hand_rgb"),
        state=("obs/ee_states", "obs/gripper_states"),
        has_no_ops=True,
    ),
    # IPEC-COMMUNITY/libero_*_no_noops_1.0.0_lerobot, made after the gripper's mapping.
    "lerobot-no-noops": Source(
        layout="libero-one-opens",
        upright="flip-horizontal",
        cameras=("image", "wrist_image"),
        state=("observation.state",),
        has_no_ops=False,
    ),
    # physical-intelligence/libero, made by openpi from the RLDS files themselves.
    "openpi": Source(
        layout="libero",
        upright="flip-horizontal",
        cameras=("image", "wrist_image"),
        state=("state",),
        has_no_ops=False,
    ),
}
"""By name; none is guessed, because two of them have the same cameras and opposite grippers."""


def source_named(name: str) -> Source:
    if name not in SOURCES:
        raise UnknownName("source of LIBERO demonstrations", name, SOURCES)
    return SOURCES[name]


def check_gripper(demo: Demo, layout: str) -> None:
    """Refuse a LIBERO demonstration whose gripper speaks the other convention.

    With the wrong one every grasp is taken for a release, and nothing else would show it.
    """
    values = demo.actions[:, list(demo.layout.gripper)]
    one_opens = bool(np.isin(values, (0.0, 1.0)).all()) and bool((values == 0.0).any())
    if layout == "libero" and one_opens:
        raise BadInput(
            f"demonstration {demo.index} of {demo.task!r} commands its gripper with 0 and 1; "
            "layout libero closes with +1 and opens with -1; give libero-one-opens"
        )
    if layout == "libero-one-opens" and bool((values < 0.0).any()):
        raise BadInput(
            f"demonstration {demo.index} of {demo.task!r} commands its gripper with numbers down "
            f"to {values.min():g}; libero-one-opens has 0 to close and 1 to open; give libero"
        )


def no_ops(
    actions: Float[np.ndarray, "frames action"], layout: ActionLayout
) -> Bool[np.ndarray, "frames"]:
    """Which actions OpenVLA's recipe leaves out: no motion, and the gripper's command unchanged.

    Unchanged since the last action that was kept; at the beginning motion alone decides
    (experiments/robot/libero/regenerate_libero_dataset.py in the openvla repository).
    """
    if layout.convention != "delta":
        raise BadInput("no-ops are defined for actions that are changes, these are targets")
    still = np.linalg.norm(actions[:, list(layout.motion)], axis=1) < STILL
    gripper = actions[:, list(layout.gripper)]
    found = np.zeros(len(actions), bool)
    kept: int | None = None
    for step in range(len(actions)):
        same = kept is None or bool((gripper[step] == gripper[kept]).all())
        found[step] = still[step] and same
        if not found[step]:
            kept = step
    return found


def without_no_ops(demo: Demo) -> Demo:
    """The demonstration without its no-ops; images stay in their files.

    OpenVLA also carries the remaining actions out again and drops demonstrations that then fail;
    here the frames are those that were recorded.
    """
    kept = np.flatnonzero(~no_ops(demo.actions, demo.layout))
    if len(kept) == 0:
        raise BadInput(f"demonstration {demo.index} of {demo.task!r} holds nothing but no-ops")
    frames = tuple(int(frame) for frame in kept)
    cameras: Mapping[str, Images] = {
        name: KeptImages(images=images, frames=frames) for name, images in demo.cameras.items()
    }
    return replace(
        demo, actions=demo.actions[kept], states=demo.states[kept], cameras=dict(cameras)
    )
