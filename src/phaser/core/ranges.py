"""What the number of a setting may be: stated once, checked when the settings are made.

    def __post_init__(self) -> None:
        check_ranges(self, steps_per_task=at_least(1, whole=True), warm_up=SHARE)

A number is finite, no truth value, and fits into 64 bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from phaser.core.errors import BadInput

MAX_WHOLE = 2**63 - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """The numbers that a setting takes."""

    low: int | float | None = None
    high: int | float | None = None
    without_low: bool = False
    """The lowest number itself is not taken."""
    without_high: bool = False
    whole: bool = False
    or_none: bool = False
    """None is taken as well."""

    def holds(self, value: Any) -> bool:
        """True if a value is one of these numbers."""
        if value is None:
            return self.or_none
        if not is_number(value) or (self.whole and not isinstance(value, Integral)):
            return False
        low = -MAX_WHOLE if self.low is None else self.low
        high = MAX_WHOLE if self.high is None and self.whole else self.high
        above = value > low if self.without_low else value >= low
        below = high is None or (value < high if self.without_high else value <= high)
        return bool(above and below)

    def __str__(self) -> str:
        """In words, to follow "expected"."""
        noun = "a whole number" if self.whole else "a number"
        if self.low is not None and self.high is not None and not self._is_open:
            text = f"{noun} from {self.low} to {self.high}"
        else:
            low = self.low is not None and f"{'above' if self.without_low else 'of at least'} "
            high = self.high is not None and f"{'below' if self.without_high else 'at most'} "
            parts = [f"{word}{edge}" for word, edge in ((low, self.low), (high, self.high)) if word]
            text = f"{noun} {' and '.join(parts)}" if parts else noun
        return f"{text}, or none" if self.or_none else text

    @property
    def _is_open(self) -> bool:
        return self.without_low or self.without_high


def at_least(low: int | float, *, whole: bool = False, or_none: bool = False) -> Range:
    """Numbers from `low` on."""
    return Range(low=low, whole=whole, or_none=or_none)


def above(low: int | float, *, or_none: bool = False) -> Range:
    """Numbers greater than `low`."""
    return Range(low=low, without_low=True, or_none=or_none)


def between(
    low: int | float, high: int | float, *, whole: bool = False, or_none: bool = False
) -> Range:
    """Numbers from `low` to `high`, both included."""
    return Range(low=low, high=high, whole=whole, or_none=or_none)


COUNT = at_least(1, whole=True)
"""How many of something that must not be missing."""
COUNT_OR_ZERO = at_least(0, whole=True)
AMOUNT = at_least(0)
POSITIVE = above(0)
SHARE = between(0, 1)


def check_ranges(settings: Any, **ranges: Range) -> None:
    """Refuse settings with a number outside its range; names are those of the fields.

    Numbers of other libraries (numpy's) become Python's, which every file can hold.
    """
    for name, expected in ranges.items():
        value = getattr(settings, name)
        if not expected.holds(value):
            raise BadInput(f"{name} {_shown(value)}; expected {_with_limit(expected, value)}")
        if value is not None and type(value) not in (int, float):
            plain = int(value) if isinstance(value, Integral) else float(value)
            object.__setattr__(settings, name, plain)


def as_whole(value: object) -> int | None:
    """The integer that a value is, Python's or numpy's; None for fractions, text, True and None."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    return int(value)


def is_number(value: object) -> bool:
    """True for a finite number that is no truth value and that a double can hold."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _with_limit(expected: Range, value: object) -> str:
    """The range, with the end of 64 bits where a value lies beyond it."""
    beyond = isinstance(value, int) and abs(value) > MAX_WHOLE
    return f"{expected} (of 64 bits)" if beyond and expected.high is None else str(expected)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
