"""Flags of a verb, read by argparse; a mistake is one line that names the nearest flag."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

from phaser.core.errors import BadInput
from phaser.core.ranges import Range, at_least, between

if TYPE_CHECKING:
    from phaser.memory.budget import Budget

ALL = "--help-all"
"""The flag that lists every setting, where --help fits on a screen."""
_SPAN = re.compile(r"(\d+)-(\d+)")
MAX_SEEDS = 10_000
MAX_PROCESSES = 1024


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
        type=share_given,
        default=0.01,
        metavar="SHARE",
        help="how far the memories of compared methods may differ (default: 0.01; the paper 0.1)",
    )


def add_verbose(parser: Parser) -> None:
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="also how fast rollouts are: shares of physics, rendering and policy",
    )


def add_phases(parser: Parser) -> None:
    parser.add_argument(
        "--phases",
        metavar="FILE",
        help="phases from a stage_info.json (see phaser segment), a shipped annotation by name "
        "(libero-goal), or 'dataset': those a LeRobot dataset carries; instead of Auto-PC's own",
    )


def add_record(parser: Parser) -> None:
    parser.add_argument(
        "--record",
        nargs="?",
        type=positive,
        const=1,
        default=0,
        metavar="N",
        help="film the first N rollouts of each task (default: 1): clips/ and clips.json in each "
        "run's folder, for phaser film and the page",
    )


def add_track(parser: Parser) -> None:
    parser.add_argument(
        "--track",
        nargs="+",
        default=[],
        metavar="NAME",
        help="also send losses and success to tensorboard, wandb or mlflow",
    )


KINDS = {"suite": "suite", "policy": "policy"}
RULES = {"keep": "keep rule", "draw": "draw rule", "rehearse": "rehearse rule"}
RULES |= {"penalty": "penalty", "segmenter": "segmenter"}


def add_kinds(parser: Parser, *, rules: bool) -> None:
    """Flags that choose an adapter or a rule by its name; its settings are then flags as well."""
    for name, what in (KINDS | (RULES if rules else {})).items():
        parser.add_argument(
            f"--{name}",
            metavar="NAME",
            help=f"another {what} by name; its settings: --{name}.…"
            if name in KINDS
            else f"another {what} by name; its settings: --method.{name}.…",
        )


def add_budget(parser: Parser, *, several: bool = False) -> None:
    """The five ways to give a budget, of which one may be used."""
    group = parser.add_mutually_exclusive_group()
    texts = {
        "--budget": "frames kept of each task (default: 20)",
        "--budget-per-phase": "instead: frames kept of each phase",
        "--budget-bytes": "instead: encoded bytes of each task, as many frames as fit; see "
        "--storage.codec",
        "--budget-total": "instead: frames in all; older tasks give way to new ones",
        "--budget-total-bytes": "instead: encoded bytes in all",
    }
    for flag, text in texts.items():
        if several:
            more = ["--budgets"] if flag == "--budget" else []
            group.add_argument(flag, *more, nargs="+", metavar="N", help=text)
        else:
            group.add_argument(flag, type=positive, metavar="N", help=text)


def budgets_in(chosen: argparse.Namespace) -> list[Budget]:
    """The budgets that the flags of `add_budget` give; none where none was used."""
    # Imported here: lists and help need no arrays.
    from phaser.memory.budget import Budget

    makers = {
        "budget": Budget.per_task,
        "budget_per_phase": Budget.per_phase,
        "budget_bytes": Budget.bytes_per_task,
        "budget_total": Budget.total,
        "budget_total_bytes": Budget.total_bytes,
    }
    for name, make in makers.items():
        value = getattr(chosen, name)
        if value is not None:
            flag = f"--{name.replace('_', '-')}"
            numbers = whole_numbers(value, flag=flag) if isinstance(value, list) else [value]
            return [make(number) for number in numbers]
    return []


def share_given(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share of at least 0 and below 1")
    return value


def positive(text: str) -> int:
    """A whole number of at least one, for counts such as --workers."""
    return _whole(text, at_least(1, whole=True))


def processes(text: str) -> int:
    """How many processes may be started."""
    return _whole(text, between(1, MAX_PROCESSES, whole=True))


def steps(text: str) -> int:
    """A whole number of steps; zero is one."""
    return _whole(text, at_least(0, whole=True))


def _whole(text: str, expected: Range) -> int:
    # Twenty digits are more than 64 bits; Python itself refuses to read thousands.
    found = int(text) if text.isdecimal() and len(text) <= 20 else None
    if found is None or not expected.holds(found):
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not {expected}")
    return found


def points_given(text: str) -> float:
    """Percentage points between 0 and 100, for --gap and --margin."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of points between 0 and 100")
    return value
