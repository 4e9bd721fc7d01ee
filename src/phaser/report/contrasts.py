"""Which methods are compared with which: those that were asked for, else all with the baselines.

p values are corrected (Holm) within a family: all contrasts that were asked for, or, where none
was, all methods that are compared with the same baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from phaser.core.errors import UnknownName
from phaser.evaluation.comparison import PairedDifference
from phaser.evaluation.intervals import holm

BASELINES = ("er", "er-even")
"""Every other method is compared with these; er-even is the trivial control."""

BOUNDS = ("sequential", "joint")
"""What no method should fall below or can rise above: not among the tests that are corrected."""

Pair = tuple[str, str]
"""A method and what it is compared with."""
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Contrasts:
    """The comparisons of a report."""

    asked: tuple[Pair, ...] = ()
    """Empty: every method with every baseline."""

    def of(self, method: str, methods: Iterable[str]) -> list[str]:
        """The methods that this one is compared with."""
        known = list(methods)
        if self.asked:
            return [other for one, other in self.asked if one == method and other in known]
        return [other for other in BASELINES if other != method and other in known]

    def family(self, pair: Pair) -> str:
        """Tests with the same name are corrected together; none for bounds."""
        if self.asked:
            return "asked"
        return "" if pair[0] in BOUNDS else pair[1]

    def check(self, methods: Iterable[str]) -> None:
        """Refuse a method that no run has."""
        known = list(methods)
        for name in (name for pair in self.asked for name in pair):
            if name not in known:
                raise UnknownName("method to compare", name, known)


EVERY = Contrasts()


def corrected(
    found: Mapping[Pair, Found],
    contrasts: Contrasts,
    difference: Callable[[Found], PairedDifference],
) -> dict[Pair, PairedDifference]:
    """Every contrast's difference, with a p that allows for the others of its family."""
    differences = {pair: difference(one) for pair, one in found.items()}
    families: dict[str, list[Pair]] = {}
    for pair in differences:
        families.setdefault(contrasts.family(pair), []).append(pair)
    families.pop("", None)
    for family in families.values():
        p_values = holm([differences[pair].p_value for pair in family])
        for pair, p_value in zip(family, p_values, strict=True):
            differences[pair] = replace(differences[pair], p_corrected=p_value)
    return differences


def baselines(rows: Sequence[Mapping[str, PairedDifference]]) -> list[str]:
    """Everything that some method is compared with, the usual baselines first."""
    found = dict.fromkeys(name for row in rows for name in row)
    usual = [name for name in BASELINES if name in found]
    return [*usual, *(name for name in found if name not in usual)]


def once(found: Mapping[Pair, Found]) -> dict[Pair, Found]:
    """Every comparison once: of two baselines, only the later minus the earlier."""
    mirrored = {
        (earlier, later)
        for later, earlier in found
        if later in BASELINES and earlier in BASELINES[: BASELINES.index(later)]
    }
    return {pair: one for pair, one in found.items() if pair not in mirrored}
