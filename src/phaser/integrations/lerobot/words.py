"""Command lines of `phaser lerobot-train`: our words apart from LeRobot's, which pass unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaser.core.errors import BadInput

OWN_PREFIX, STREAM, RESUME = "--replay.", "--stream", "--resume"
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """One command line, taken apart."""

    own: tuple[str, ...]
    """Flags of ours with their values."""
    theirs: tuple[str, ...]
    """Everything else, in order, as it was written."""
    resume: bool


def taken_apart(words: Sequence[str]) -> Words:
    """Take flags that begin with `--replay.`, `--stream` and `--resume` out of a command line.

    Both `--flag value` and `--flag=value` are read; an underscore in one of our names is a dash.
    """
    own: list[str] = []
    theirs: list[str] = []
    resume = False
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, _, value = word.partition("=")
        if name == RESUME:
            given = value if value or not _is_truth(rest) else rest.pop(0)
            resume = _truth(given or "true")
        elif name == STREAM or name.startswith(OWN_PREFIX):
            own.append(name.replace("_", "-"))
            own += [value] if "=" in word else []
            while rest and not rest[0].startswith("--"):
                own.append(rest.pop(0))
        else:
            theirs.append(word)
    return Words(own=tuple(own), theirs=tuple(theirs), resume=resume)


def value_of(words: Sequence[str], flag: str) -> str | None:
    """The value of a flag of LeRobot's, the last where it is given twice; None where it is not."""
    found = None
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == flag:
            after = words[place + 1] if place + 1 < len(words) else ""
            found = value if equals else after
    return found


def without(words: Sequence[str], *names: str) -> list[str]:
    """The words without these flags and their values; a name that ends in a dot is a prefix."""
    kept: list[str] = []
    skipping = False
    for word in words:
        if word.startswith("--"):
            name = word.partition("=")[0]
            skipping = any(
                name.startswith(one) if one.endswith(".") else name == one for one in names
            )
        if not skipping:
            kept.append(word)
    return kept


def _is_truth(rest: Sequence[str]) -> bool:
    return bool(rest) and rest[0].lower() in (*_TRUE, *_FALSE)


def _truth(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise BadInput(f"{RESUME}={text}; expected true or false")
    return text.lower() in _TRUE
