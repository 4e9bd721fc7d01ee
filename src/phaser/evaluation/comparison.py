"""One method's ASR with its interval, and two methods compared pair by pair.

A pair is one (seed, task): the same demonstrations, the same task order and the same initial
states. Everything that is not paired is refused rather than averaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.core.streams import Stream
from phaser.evaluation.intervals import Interval, bootstrap_mean, newcombe, sign_flip_p, wilson
from phaser.evaluation.matrix import SuccessMatrix

Matrices = Mapping[int, SuccessMatrix]
"""The success matrices of one method by seed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """The average success rate of a method over its seeds."""

    mean: float
    interval: Interval
    num_seeds: int
    successes: int
    trials: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedDifference:
    """ASR of the first method minus ASR of the second, over the seeds that both have."""

    mean: float
    interval: Interval
    num_seeds: int
    num_tasks: int
    p_value: float
    p_corrected: float | None = None
    """Among all methods that are compared with the same one (Holm); none before that is known."""

    @property
    def is_clear(self) -> bool:
        """The interval lies on one side of zero."""
        return 0.0 not in self.interval


def estimate_asr(matrices: Matrices, stream: Stream) -> Estimate:
    """Mean final success over tasks and seeds, with a bootstrap over both."""
    seeds, tasks = sorted(matrices), _tasks(matrices)
    rates = _final_rates(matrices, seeds, tasks)
    successes, trials = _pooled(matrices, seeds, tasks)
    # A table without variation has nothing to resample; pooled episodes still bound the rate.
    flat = bool(np.ptp(rates) == 0)
    return Estimate(
        mean=float(rates.mean()),
        interval=wilson(successes, trials) if flat else bootstrap_mean(rates, stream),
        num_seeds=len(seeds),
        successes=successes,
        trials=trials,
    )


def paired_difference(first: Matrices, second: Matrices, stream: Stream) -> PairedDifference:
    """Compare two methods over their common seeds."""
    seeds = sorted(set(first) & set(second))
    if not seeds:
        raise BadInput(f"no common seed: {sorted(first)} against {sorted(second)}")
    tasks = _tasks(first)
    for seed in seeds:
        _check_paired(first[seed], second[seed], seed)
    difference = _final_rates(first, seeds, tasks) - _final_rates(second, seeds, tasks)
    flat = bool(np.ptp(difference) < 1e-12)
    counts = (_pooled(first, seeds, tasks), _pooled(second, seeds, tasks))
    return PairedDifference(
        mean=float(difference.mean()),
        interval=newcombe(*counts) if flat else bootstrap_mean(difference, stream),
        num_seeds=len(seeds),
        num_tasks=len(tasks),
        p_value=sign_flip_p(difference.mean(axis=1), stream),
    )


def _tasks(matrices: Matrices) -> list[str]:
    """Tasks by name, because seeds may train in different orders."""
    lists = {tuple(sorted(matrix.tasks)) for matrix in matrices.values()}
    if len(lists) != 1:
        raise BadInput(f"seeds have different tasks: {sorted(lists)}; compare like with like")
    return list(lists.pop())


def _final_rates(
    matrices: Matrices, seeds: Sequence[int], tasks: Sequence[str]
) -> Float[np.ndarray, "seeds tasks"]:
    return np.array([[matrices[seed].final(task).rate for task in tasks] for seed in seeds])


def _pooled(matrices: Matrices, seeds: Sequence[int], tasks: Sequence[str]) -> tuple[int, int]:
    cells = [matrices[seed].final(task) for seed in seeds for task in tasks]
    return sum(cell.successes for cell in cells), sum(cell.trials for cell in cells)


def _check_paired(first: SuccessMatrix, second: SuccessMatrix, seed: int) -> None:
    if set(first.tasks) != set(second.tasks):
        raise BadInput(f"seed {seed}: tasks {list(first.tasks)} against {list(second.tasks)}")
    ordered = not (first.is_joint or second.is_joint)
    if ordered and first.tasks != second.tasks:
        raise BadInput(
            f"seed {seed}: trained in order {list(first.tasks)} and {list(second.tasks)}; "
            "a pair needs one order"
        )
    for task in first.tasks:
        if first.final(task).env_seeds != second.final(task).env_seeds:
            raise BadInput(
                f"seed {seed}, task {task!r}: the methods were evaluated from different initial "
                "states; evaluate both with the same rollout seeds"
            )
