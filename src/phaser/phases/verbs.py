"""What an instruction asks for: its verbs in order, as the words that phases are named with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["carry", "contact", "tool"]

CARRY = "transport"
"""What a hand does with what it holds when no other word fits."""
_CONTACT = {
    "pull": ("pull", "open", "drag", "draw", "unplug", "remove", "extract"),
    "push": ("push", "close", "shut", "shove", "nudge"),
    "slide": ("slide",),
    "turn": ("turn", "twist", "rotate", "screw", "unscrew", "lock", "unlock", "flip"),
    "press": ("press", "tap", "click", "toggle"),
    "sweep": ("sweep", "wipe"),
    "kick": ("kick",),
}
_TOOL = {
    "hit": ("hit", "strike", "hammer"),
    "insert": ("insert", "plug", "thread"),
    "throw": ("throw", "toss"),
    "pour": ("pour",),
}
_CARRY = ("put", "place", "move", "carry", "stack", "lift", "hang", "bring", "hold", "store", "set")
_FIRST = ("pick", "grasp", "grab", "take", "reach", "get")
"""Verbs of getting hold of something; what is done with it comes in the next clause."""
PHASE_NAMES = (
    *("approach", "align", "grasp", "lift", CARRY, "place", "release", "retreat", "reach"),
    *_CONTACT,
    *_TOOL,
)
"""All names that Auto-PC gives to phases, and that people may choose from."""
_CLAUSES = re.compile(r"\b(?:and|then)\b|[,;.]")
_WORDS = re.compile(r"[a-z]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One thing that an instruction asks for."""

    name: str
    """What the phase that does it is called."""
    kind: Kind
    """"contact" acts on what stays where it is, "carry" moves it about, "tool" ends in the act."""
    way: Literal["up", "down", ""] = ""
    """Where the instruction says that it goes up or down."""


def asked(instruction: str) -> tuple[Asked, ...]:
    """The things that an instruction asks for, in its order; nothing where no verb is known.

    A verb is the first word of a clause. "Pick up the ring and put it on the peg" is one thing,
    because picking up is how carrying begins; "put both the soup and the sauce in the basket" is
    the same thing twice.
    """
    found: list[Asked] = []
    only_got: list[Asked] = []
    for clause in _CLAUSES.split(instruction.lower()):
        words = _WORDS.findall(clause)
        if not words:
            continue
        if words[0] in _FIRST or words[:3] == ["move", "the", "hand"]:
            reaching = words[0] in ("reach", "move")
            only_got.append(Asked(name="reach" if reaching else CARRY, kind="carry"))
        elif (one := _of_clause(words)) is not None:
            found += [one, one] if "both" in words else [one]
    return tuple(found or only_got[:1])


def _of_clause(words: list[str]) -> Asked | None:
    way: Literal["up", "down", ""] = "up" if "up" in words else "down" if "down" in words else ""
    tables: tuple[tuple[Kind, dict[str, tuple[str, ...]]], ...] = (
        ("contact", _CONTACT),
        ("tool", _TOOL),
        ("carry", {CARRY: _CARRY}),
    )
    for kind, table in tables:
        for name, verbs in table.items():
            if words[0] in verbs:
                return Asked(name=name, kind=kind, way=way)
    return None
