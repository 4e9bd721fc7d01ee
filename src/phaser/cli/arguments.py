"""Flags of a verb, read by argparse; a mistake is one line that names the nearest flag."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from phaser.core.errors import BadInput

_SPAN = re.compile(r"(\d+)-(\d+)")
MAX_SEEDS = 10_000


class Parser(argparse.ArgumentParser):
    """Raises instead of printing a usage text and leaving."""

    def __init__(self, verb: str, description: str, *, usage: str = "", epilog: str = "") -> None:
        super().__init__(
            prog=f"phaser {verb}",
            usage=usage or None,
            description=description,
            epilog=epilog or None,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.verb = verb

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{self.verb}: {message}; see phaser {self.verb} --help")

    def flags(self) -> list[str]:
        return [flag for flag in self._option_string_actions if flag.startswith("--")]

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """All flags belong to this parser; an unknown one answers "did you mean"."""
        found, rest = self.parse_known_args(list(arguments))
        refuse_unknown(self.verb, rest, self.flags())
        return found


def refuse_unknown(verb: str, rest: Sequence[str], known: Iterable[str]) -> None:
    """One line for what no parser took."""
    if not rest:
        return
    name = next((word for word in rest if word.startswith("-")), "").split("=")[0]
    if not name:
        raise BadInput(f"{verb}: unexpected {rest[0]!r}; see phaser {verb} --help")
    close = difflib.get_close_matches(name, sorted(known), n=2, cutoff=0.6)
    hint = f"did you mean {' or '.join(close)}?" if close else f"see phaser {verb} --help"
    raise BadInput(f"{verb}: unknown flag {name}; {hint}")


def split_first(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The word before the flags, or nothing, and the rest."""
    if arguments and not arguments[0].startswith("-"):
        return arguments[0], list(arguments[1:])
    return "", list(arguments)


def whole_numbers(words: Sequence[str], *, flag: str) -> tuple[int, ...]:
    """Numbers and spans, each number once: `0 1 2`, `0-7`, `0-3 8`."""
    numbers: list[int] = []
    for word in words:
        span = _SPAN.fullmatch(word)
        if span and int(span[1]) <= int(span[2]) < int(span[1]) + MAX_SEEDS:
            numbers += range(int(span[1]), int(span[2]) + 1)
        elif re.fullmatch(r"-?\d{1,9}", word):
            numbers.append(int(word))
        else:
            raise BadInput(f"{flag} {word!r}; expected whole numbers such as 0 1 2, or 0-7")
    return tuple(dict.fromkeys(numbers))


def add_budget_tolerance(parser: Parser) -> None:
    parser.add_argument(
        "--budget-tolerance",
        type=_share,
        default=0.01,
        metavar="SHARE",
        help="how far the memories of compared methods may differ (default: 0.01; the paper 0.1)",
    )


def add_phases(parser: Parser) -> None:
    parser.add_argument(
        "--phases",
        type=Path,
        metavar="FILE",
        help="phases from a stage_info.json (see phaser segment) instead of Auto-PC's own",
    )


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share of at least 0 and below 1")
    return value


def positive(text: str) -> int:
    """A whole number of at least one, for counts such as --workers."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
