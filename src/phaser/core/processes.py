"""This process among those that a launcher (`accelerate launch`, torchrun) started together.

Read from the environment that launchers set, so that the command line can ask without torch.
"""

from __future__ import annotations

import os

from phaser.core.errors import BadInput


def num_processes() -> int:
    """How many processes were started together; 1 without a launcher."""
    return _number("WORLD_SIZE", 1)


def is_first_process() -> bool:
    """True for the one process that writes files and talks."""
    return _number("RANK", 0) == 0


def number_beside() -> int | None:
    """The number of this process beside the first; None in the first, and without a launcher."""
    number = os.environ.get("RANK", "")
    return int(number) if number.isdecimal() and int(number) > 0 and num_processes() > 1 else None


def require_one_process(verb: str) -> None:
    """Refuse a verb that starts processes of its own."""
    if (count := num_processes()) > 1:
        raise BadInput(
            f"{verb} was started in {count} processes by a launcher, but starts its own; "
            "call it without the launcher, or launch `phaser run`"
        )


def _number(name: str, default: int) -> int:
    found = os.environ.get(name, "")
    if not found:
        return default
    if not found.isdecimal():
        raise BadInput(f"{name}={found!r} in the environment; expected a whole number")
    return int(found)
