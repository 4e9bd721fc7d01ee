"""Orders in which the tasks of a list are learnt: default, reverse, shuffled(seed)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from phaser.core.errors import UnknownName
from phaser.core.streams import Streams

_SHUFFLED = re.compile(r"shuffled\((\d{1,9})\)")


def in_order(names: Sequence[str], order: str) -> tuple[str, ...]:
    """The same names, each once, in the order asked for."""
    if order == "default":
        return tuple(names)
    if order == "reverse":
        return tuple(reversed(names))
    shuffled = _SHUFFLED.fullmatch(order)
    if shuffled is None:
        raise UnknownName("task order", order, ["default", "reverse", "shuffled(0)"])
    draw = Streams(int(shuffled[1])).named("task order")()
    return tuple(names[position] for position in draw.permutation(len(names)))
