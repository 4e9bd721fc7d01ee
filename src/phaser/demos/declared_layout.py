"""The action layout that a LeRobot dataset declares: by its robot, or by its names for the joints.

LeRobot's own robots command joint positions and call them so: `shoulder_pan.pos`, `gripper.pos`.
Such a name says that the number is a target, and the driver that a gripper opens from 0 to 100.
Names that say less (`x`, `joint_3`, `motor_5`) decide nothing: the user has to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phaser.core.demonstration import ActionLayout
from phaser.demos.layouts import LAYOUTS

ROBOTS = {
    "so100": "so100",
    "so101": "so101",
    "koch": "koch",
    "aloha": "aloha",
    "trossen_ai_stationary": "aloha",
}
"""Robots whose actions have one form in all datasets, as `robot_type` names them without what
stands before and after: so100_follower, bi_so100."""
_POSITION = ".pos"
_GRIPPER = "gripper"


def declared_layout(robot_type: str, names: Sequence[str]) -> ActionLayout | None:
    """The layout of a robot with these action names; None where they do not tell it."""
    if names and all(name.endswith(_POSITION) for name in names):
        gripper = tuple(k for k, name in enumerate(names) if _GRIPPER in name.lower())
        motion = tuple(k for k in range(len(names)) if k not in gripper)
        if motion:
            return ActionLayout(
                motion=motion, gripper=gripper, convention="absolute", gripper_closes="falling"
            )
    known = ROBOTS.get(robot_type.lower().removesuffix("_follower"))
    if known is not None and LAYOUTS[known].size == len(names):
        return LAYOUTS[known].layout
    return None


def layout_in_info(info: Any, column: str) -> ActionLayout | None:
    """The layout that `info.json` declares for its actions; None where it does not.

    info: the file's content, or an object with its fields, as newer LeRobots have it.
    """
    features, robot = _field(info, "features"), _field(info, "robot_type")
    feature = features.get(column) if isinstance(features, Mapping) else None
    names = feature.get("names") if isinstance(feature, Mapping) else None
    if isinstance(names, Mapping) and len(names) == 1:
        names = next(iter(names.values()))
    if not isinstance(names, list | tuple):
        return None
    return declared_layout(str(robot or ""), [str(name) for name in names])


def in_words(layout: ActionLayout) -> str:
    """A layout in one line, for the person who did not give it."""
    motion, gripper = (
        " ".join(map(str, numbers)) or "none" for numbers in (layout.motion, layout.gripper)
    )
    actions = "targets" if layout.convention == "absolute" else "changes"
    return (
        f"arm {motion}, gripper {gripper} (a {layout.gripper_closes} number closes it), {actions}"
    )


def _field(info: Any, name: str) -> Any:
    return info.get(name) if isinstance(info, Mapping) else getattr(info, name, None)
