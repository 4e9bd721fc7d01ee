"""May one stop? Every comparison of a report, judged so that looking again and again is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phaser.evaluation.comparison import PairedDifference
from phaser.evaluation.sequential import Sequential, sequential
from phaser.report.contrasts import BOUNDS, Pair
from phaser.report.curve import Curve
from phaser.report.summary import Summary
from phaser.report.wording import bracket, counted

EXPLANATION = (
    "Valid however often one looks (5 % over all looks and comparisons together); streams count "
    "in the order of their seeds, and a difference is as likely up as down if there is none."
)


def judged(summaries: Sequence[Summary], curves: Sequence[Curve]) -> dict[Pair, Sequential]:
    """The comparisons of a curve's mean over budgets where there is one, else of the one report."""
    differences: dict[Pair, PairedDifference] = {
        (one.method, one.baseline): one.over_budgets for curve in curves for one in curve.contrasts
    }
    if not differences:
        differences = {
            (row.method, name): found
            for summary in summaries[:1]
            if not summary.losses
            for row in summary.rows
            for name, found in row.differences.items()
        }
    return _judged(differences)


def _judged(differences: Mapping[Pair, PairedDifference]) -> dict[Pair, Sequential]:
    """Bounds are no question, and of two baselines the later is compared with the earlier."""
    tested: dict[Pair, PairedDifference] = {}
    for (method, other), found in reversed(list(differences.items())):
        if method not in BOUNDS and (other, method) not in tested:
            tested[method, other] = found
    return {
        pair: sequential(list(found.by_seed.values()), num_contrasts=len(tested))
        for pair, found in reversed(list(tested.items()))
    }


def lines(found: Mapping[Pair, Sequential]) -> list[str]:
    """One line per comparison, and what the numbers mean."""
    if not found:
        return ["Nothing to stop: no two methods have rollouts of the same streams."]
    said = []
    for (method, other), one in found.items():
        streams = counted(one.num_streams, "stream")
        verdict = (
            f"decided after {one.decided_after} of {streams}, stop"
            if one.is_decided
            else f"not decided by {streams}, go on"
        )
        said.append(
            f"{method} minus {other}: {verdict} (evidence {one.e_value:.3g} of {one.needed:.0f}; "
            f"95 % {bracket(one.interval)} points)"
        )
    return [*said, EXPLANATION]
