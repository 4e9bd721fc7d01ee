"""Numbers as a report writes them: percent, points, brackets, and counted things."""

from __future__ import annotations

from phaser.evaluation.comparison import PairedDifference
from phaser.evaluation.intervals import Interval


def percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def points(difference: float) -> str:
    """A difference in percentage points, signed; never a negative zero."""
    return f"{100 * difference + 0.0:+.1f}".replace("-0.0", "+0.0").replace("-", "−")


def bracket(interval: Interval | None) -> str:
    """An interval of a difference of rates, in points."""
    return "" if interval is None else f"[{points(interval.lower)}, {points(interval.upper)}]"


def signed_loss(difference: float) -> str:
    return f"{difference + 0.0:+.3g}".replace("-", "−")


def loss_bracket(interval: Interval | None) -> str:
    """An interval of a difference of losses; empty where nothing is known of it."""
    if interval is None:
        return ""
    return f"[{signed_loss(interval.lower)}, {signed_loss(interval.upper)}]"


def counted(number: int, thing: str) -> str:
    """A number and its noun, in the singular where that is right."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def decimal(number: float, digits: int = 1) -> str:
    """A rounded number without a trailing zero: 5.0 is 5."""
    return f"{number:.{digits}f}".removesuffix(f".{'0' * digits}")


def p_text(found: PairedDifference) -> str:
    """A p value and its corrected one, behind a comma; nothing where a single seed has none."""
    if found.p_value is None:
        return ""
    corrected = "" if found.p_corrected is None else f" (Holm {found.p_corrected:.3g})"
    return f", p = {found.p_value:.3g}{corrected}"
