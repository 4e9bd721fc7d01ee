"""Flags that say how demonstrations in files are read; `segment` and `annotate` share them."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from phaser.cli.arguments import Parser, whole_numbers
from phaser.core.demonstration import ActionLayout
from phaser.core.errors import BadInput
from phaser.demos.layouts import LAYOUTS
from phaser.demos.turned import AS_STORED, TURNS

if TYPE_CHECKING:
    from phaser.suites.sources import ReadingFlags


def add_reading_flags(parser: Parser) -> None:
    files = parser.add_argument_group("files")
    files.add_argument(
        "--layout", choices=sorted(LAYOUTS), help="what the numbers of an action do, by name"
    )
    files.add_argument("--motion", nargs="+", metavar="D", help="dimensions that move the arm")
    files.add_argument("--gripper", nargs="+", metavar="D", help="dimensions of the gripper")
    files.add_argument(
        "--gripper-closes", choices=("rising", "falling"), help="which way its number closes it"
    )
    files.add_argument("--absolute", action="store_true", help="actions are targets, not changes")
    files.add_argument(
        "--turn", choices=sorted(TURNS), default=AS_STORED, help="set images upright"
    )
    files.add_argument("--state-keys", nargs="+", metavar="KEY", help="HDF5: arrays of the state")
    files.add_argument("--instruction", metavar="TEXT", help="HDF5: words the file does not have")


def reading_from(chosen: Namespace) -> ReadingFlags:
    """How files are read."""
    # Imported here: help opens no files.
    from phaser.suites.sources import ReadingFlags

    layout: ActionLayout | str | None = chosen.layout
    if chosen.motion:
        if chosen.layout:
            raise BadInput("--layout names all dimensions; leave out --motion and --gripper")
        layout = ActionLayout(
            motion=whole_numbers(chosen.motion, flag="--motion"),
            gripper=whole_numbers(chosen.gripper or [], flag="--gripper"),
            convention="absolute" if chosen.absolute else "delta",
            gripper_closes=chosen.gripper_closes or "rising",
        )
        if layout.gripper and chosen.gripper_closes is None:
            raise BadInput(
                "--gripper names a dimension; say with --gripper-closes rising or falling which "
                "way closes it"
            )
    elif chosen.gripper or chosen.absolute:
        raise BadInput("--gripper and --absolute need --motion: name the arm's dimensions too")
    return ReadingFlags(
        layout=layout,
        turn=chosen.turn,
        state_keys=tuple(chosen.state_keys or ()),
        instruction=chosen.instruction,
        gripper_closes=chosen.gripper_closes,
    )
