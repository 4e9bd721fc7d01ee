"""What a comparison settles: a difference, equality within a margin, or neither; and what it could.

A difference that is not shown may be small or badly measured. So beside each difference stands
whether the methods are shown to be equal, and the smallest gap that the same design would find in
80 of 100 studies.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING

from phaser.evaluation.comparison import PairedDifference
from phaser.evaluation.equivalence import LEVEL
from phaser.evaluation.power import FEWEST_STREAMS
from phaser.report.wording import bracket

if TYPE_CHECKING:
    from phaser.report.summary import Summary

EXPLANATION = (
    "A difference is shown where its 95 % interval leaves out 0 and its p, before correction, is "
    "at most .05. Equality within a margin is shown where the 90 % interval lies inside it and two "
    "one-sided sign-flip tests have p ≤ .05, which takes five seeds. The smallest gap is what the "
    "two-sided test at .05 finds with 80 % power in as many seeds whose differences vary as these "
    "do; below six seeds it finds nothing."
)


def headings(summary: Summary) -> tuple[str, ...]:
    """Held-out losses have no margin, so no column for it."""
    if summary.losses:
        return ("method", "minus", "settled", "smallest gap found")
    return ("method", "minus", "90 % interval", "p of equality", "settled", "smallest gap found")


def rows(summary: Summary) -> list[tuple[str, ...]]:
    """One row per method and baseline."""
    return [
        (row.method, baseline, *cells(found))
        for row in summary.rows
        for baseline, found in row.differences.items()
    ]


def cells(found: PairedDifference) -> tuple[str, ...]:
    """The cells of one difference, without the names in front."""
    equal = found.equivalence
    if equal is None:
        return verdict(found), smallest_gap(found)
    p_value = "–" if equal.p_value is None else f"{equal.p_value:.3g}"
    return bracket(equal.interval), p_value, verdict(found), smallest_gap(found)


def smallest_gap(found: PairedDifference) -> str:
    """In points where rates are compared, else in the unit of the losses."""
    if found.detectable is None:
        return "–"
    if found.equivalence is None:
        return f"{found.detectable:.3g}"
    return f"{100 * found.detectable:.1f} points"


def verdict(found: PairedDifference, *, corrected: bool = False) -> str:
    """The result in plain words; "not settled" is followed by the reason.

    corrected: a difference needs a p that allows for the number of comparisons.
    """
    equal = found.equivalence
    within = f"equal within ±{100 * equal.margin:g} points" if equal else ""
    p_value = found.p_corrected if corrected and found.p_corrected is not None else found.p_value
    differs = found.is_clear and p_value is not None and p_value <= LEVEL
    if equal and equal.is_shown:
        return f"{'a difference is shown, but ' if differs else ''}shown to be {within}"
    if differs:
        return "a difference is shown"
    if found.num_seeds == 1:
        return "not settled: 1 seed"
    if found.num_seeds < FEWEST_STREAMS:
        return f"not settled: fewer than {FEWEST_STREAMS} seeds"
    if equal:
        return f"not settled: shown to be neither different nor {within}"
    return "not settled: no difference is shown"


def by_verdict(verdicts: Mapping[str, str]) -> str:
    """Comparisons with the same verdict share a line; lines are wrapped at 80 columns."""
    names: dict[str, list[str]] = {}
    for name, said in verdicts.items():
        names.setdefault(said, []).append(name)
    return "\n".join(
        fill(f"{', '.join(found)}: {said}", 80, subsequent_indent="  ", break_long_words=False)
        for said, found in names.items()
    )
