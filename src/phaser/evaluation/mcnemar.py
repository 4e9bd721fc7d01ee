"""The exact McNemar test: two policies that were tried from the same initial states.

Only the states that one policy solves and the other does not tell them apart. Were the two equally
good, either would be the one that solves it with probability one half.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, fsum, lgamma, log

from phaser.evaluation.intervals import holm
from phaser.evaluation.matrix import Cell, SuccessMatrix


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskContrast:
    """Two methods on one task after the last one, rollout by rollout."""

    task: str
    first_only: int
    """Initial states, over all common seeds, that only the first method solved."""
    second_only: int
    pairs: int
    p_value: float
    """About the policies that were trained, not about the methods: seeds are pooled."""
    p_corrected: float | None = None
    """Among the tasks (Holm)."""


def mcnemar_p(first_only: int, second_only: int) -> float:
    """Two-sided exact p that both kinds of discordant pairs are equally likely."""
    total = first_only + second_only
    if total == 0:
        return 1.0
    # By logarithms, since the number of ways to flip thousands of pairs is no float.
    ways = (
        lgamma(total + 1) - lgamma(count + 1) - lgamma(total - count + 1) - total * log(2)
        for count in range(min(first_only, second_only) + 1)
    )
    return min(1.0, 2 * fsum(map(exp, ways)))


def task_contrasts(
    pairs: Iterable[tuple[SuccessMatrix, SuccessMatrix]],
) -> tuple[TaskContrast, ...]:
    """Every task that the matrices share, with p corrected among them.

    pairs: the two methods' matrices of each common seed, evaluated from the same initial states.
    """
    counts: dict[str, list[int]] = {}
    for first, second in pairs:
        for task in first.tasks:
            found = _discordant(first.final(task), second.final(task))
            if found is None:
                continue
            so_far = counts.setdefault(task, [0, 0, 0])
            for place, count in enumerate((*found, first.final(task).trials)):
                so_far[place] += count
    contrasts = [
        TaskContrast(
            task=task, first_only=one, second_only=two, pairs=tried, p_value=mcnemar_p(one, two)
        )
        for task, (one, two, tried) in counts.items()
    ]
    corrected = holm([one.p_value for one in contrasts])
    return tuple(
        replace(one, p_corrected=p_value) for one, p_value in zip(contrasts, corrected, strict=True)
    )


def _discordant(first: Cell, second: Cell) -> tuple[int, int] | None:
    """Initial states that one method alone solved; none where single outcomes are not known."""
    if first.solved is None or second.solved is None or first.env_seeds != second.env_seeds:
        return None
    pairs = list(zip(first.solved, second.solved, strict=True))
    return pairs.count((1, 0)), pairs.count((0, 1))
