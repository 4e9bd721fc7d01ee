"""Action layouts by name: documented conventions of simulators and datasets, chosen explicitly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from phaser.core.demonstration import ActionLayout
from phaser.core.errors import BadInput, UnknownName


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedLayout:
    """A convention: how many numbers an action has, and what they do."""

    size: int
    layout: ActionLayout


_POSE, _XYZ = tuple(range(6)), (0, 1, 2)

_OPERATIONAL = ActionLayout(motion=_POSE, gripper=(6,), translation=_XYZ)

# Joint targets of LeRobot's small arms, five joints and a gripper that opens from 0 to 100.
_FIVE_JOINTS = ActionLayout(
    motion=(0, 1, 2, 3, 4), gripper=(5,), convention="absolute", gripper_closes="falling"
)

LAYOUTS = {
    # Operational-space control: three translations, three rotations, then the gripper.
    "libero": NamedLayout(size=7, layout=_OPERATIONAL),
    # LIBERO after OpenVLA's mapping of the gripper: 0 closes, 1 opens.
    "libero-one-opens": NamedLayout(size=7, layout=replace(_OPERATIONAL, gripper_closes="falling")),
    "robosuite": NamedLayout(size=7, layout=_OPERATIONAL),
    "robosuite-two-arms": NamedLayout(
        size=14, layout=ActionLayout(motion=(*_POSE, *range(7, 13)), gripper=(6, 13))
    ),
    "metaworld": NamedLayout(
        size=4, layout=ActionLayout(motion=_XYZ, gripper=(3,), translation=_XYZ)
    ),
    # Joint targets of two six-joint arms, each followed by its gripper, which opens with 1.
    "aloha": NamedLayout(
        size=14,
        layout=ActionLayout(
            motion=(*_POSE, *range(7, 13)),
            gripper=(6, 13),
            convention="absolute",
            gripper_closes="falling",
        ),
    ),
    "so100": NamedLayout(size=6, layout=_FIVE_JOINTS),
    "so101": NamedLayout(size=6, layout=_FIVE_JOINTS),
    "koch": NamedLayout(size=6, layout=_FIVE_JOINTS),
    # LeRobot's port of DROID: targets of seven joints, then the gripper, which closes with 1.
    "droid": NamedLayout(
        size=8, layout=ActionLayout(motion=(*_POSE, 6), gripper=(7,), convention="absolute")
    ),
}


def layout_named(name: str) -> NamedLayout:
    if name not in LAYOUTS:
        raise UnknownName("action layout", name, LAYOUTS)
    return LAYOUTS[name]


def check_layout(layout: ActionLayout, *, num_dimensions: int, source: Path) -> None:
    """Refuse a layout that names dimensions which the actions do not have."""
    outside = [k for k in layout.motion + layout.gripper if not 0 <= k < num_dimensions]
    if outside or not layout.motion:
        raise BadInput(
            f"{source} has actions of {num_dimensions} numbers; the layout names motion "
            f"{layout.motion} and gripper {layout.gripper}, expected some of "
            f"0 to {num_dimensions - 1}"
        )


class NoLayout(BadInput):
    """Nothing says what the numbers of a source's actions do, and nothing is guessed."""

    def __init__(self, source: Path, remedy: str = "") -> None:
        """Say what to give.

        source: the dataset.
        remedy: what to give, in the words of the place where the user is; else as an argument.
        """
        self.source = source
        given = remedy or f"give layout=, an ActionLayout or a name: {', '.join(sorted(LAYOUTS))}"
        super().__init__(
            f"{source} does not say which action dimensions move the arm and which the gripper; "
            f"{given}"
        )
