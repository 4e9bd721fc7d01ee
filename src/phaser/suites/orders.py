"""Orders in which the tasks of a list are learnt: default, reverse, shuffled(seed)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from phaser.core.errors import BadInput, UnknownName
from phaser.core.streams import Streams

Thing = TypeVar("Thing")
_SHUFFLED = re.compile(r"shuffled\((\d{1,9})\)")


def drawn(things: Sequence[Thing], count: int, *, stream: int) -> tuple[Thing, ...]:
    """`count` different things in a random order, decided by the number of a stream."""
    if not 0 < count <= len(things):
        raise BadInput(f"a stream of {count} out of {len(things)}; expected 1 to {len(things)}")
    draw = Streams(stream).named("task stream", len(things))()
    return tuple(things[place] for place in draw.permutation(len(things))[:count].tolist())


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
