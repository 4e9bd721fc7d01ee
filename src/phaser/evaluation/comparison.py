"""One method's ASR with its interval, and two methods compared pair by pair.

A pair is one (seed, task): the same demonstrations, the same task order and the same initial
states. Everything that is not paired is refused rather than averaged. Where all seeds have the same
tasks, both vary and an interval allows for both; where every seed draws a stream of tasks of its
own, a stream is one value, and the spread over streams covers tasks, orders and seeds at once. One
seed cannot say how much seeds differ: its interval is over tasks alone, and it has no p value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.core.streams import Stream
from phaser.evaluation.equivalence import CONFIDENCE, MARGIN, Equivalence, equivalence
from phaser.evaluation.intervals import Interval, newcombe, sign_flip_p, wilson
from phaser.evaluation.matrix import SuccessMatrix
from phaser.evaluation.power import detectable_effect
from phaser.evaluation.student import mean_interval

Matrices = Mapping[int, SuccessMatrix]
"""The success matrices of one method by seed."""
Pair = tuple[Matrices, Matrices]
"""Two methods under one condition, such as a budget."""


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
    interval: Interval | None
    """95 %; none where a single loss, or losses that do not vary, say nothing about it."""
    num_seeds: int
    num_tasks: int
    same_tasks: bool = True
    """All seeds have the same tasks; else each has a stream of its own."""
    p_value: float | None
    """By flipping the signs of the seeds; none for a single seed."""
    p_corrected: float | None = None
    """Among all methods that are compared with the same one (Holm); none before that is known."""
    detectable: float | None = None
    """The smallest gap that this design finds with 80 % power; none where it finds none."""
    equivalence: Equivalence | None = None
    """Whether the methods are shown to be equal; none where no margin has a meaning."""
    by_seed: Mapping[int, float] = field(default_factory=dict)
    """The difference of each seed or stream, in the order of their numbers."""

    @property
    def is_clear(self) -> bool:
        """The interval lies on one side of zero."""
        return self.interval is not None and 0.0 not in self.interval


def estimate_asr(matrices: Matrices) -> Estimate:
    """Mean final success over tasks and seeds, with an interval that allows for both."""
    seeds = sorted(matrices)
    rates = _by_stream(_final_rates(matrices, seeds), same_tasks(matrices))
    successes, trials = _pooled(matrices, seeds)
    # A table without variation has no spread; pooled episodes still bound the rate.
    return Estimate(
        mean=float(rates.mean()),
        interval=mean_interval(rates, bounds=(0.0, 1.0)) or wilson(successes, trials),
        num_seeds=len(seeds),
        successes=successes,
        trials=trials,
    )


def paired_difference(
    first: Matrices, second: Matrices, stream: Stream, *, margin: float = MARGIN
) -> PairedDifference:
    """Compare two methods over their common seeds."""
    seeds = sorted(set(first) & set(second))
    if not seeds:
        raise BadInput(f"no common seed: {sorted(first)} against {sorted(second)}")
    common = tuple({seed: one[seed] for seed in seeds} for one in (first, second))
    return mean_paired_difference([(common[0], common[1])], stream, margin=margin)


def mean_paired_difference(
    pairs: Sequence[Pair], stream: Stream, *, margin: float = MARGIN
) -> PairedDifference:
    """Compare two methods by the mean of their paired differences over several conditions.

    pairs: the two methods under each condition, all with the same seeds.
    """
    seeds = sorted(pairs[0][0])
    table = np.mean([rate_differences(*pair) for pair in pairs], axis=0)
    repeated = same_tasks(pairs[0][0])
    values = _by_stream(table, repeated)

    def interval(confidence: float) -> Interval:
        found = mean_interval(values, confidence=confidence, bounds=(-1.0, 1.0))
        return found or newcombe(_counts(pairs, 0), _counts(pairs, 1), confidence=confidence)

    by_seed = table.mean(axis=1)
    return PairedDifference(
        mean=float(table.mean()),
        interval=interval(0.95),
        num_seeds=len(seeds),
        num_tasks=table.shape[1],
        same_tasks=repeated,
        p_value=sign_flip_p(by_seed, stream) if len(seeds) > 1 else None,
        detectable=smallest_gap(by_seed),
        equivalence=equivalence(by_seed, interval(CONFIDENCE), stream, margin=margin),
        by_seed=dict(zip(seeds, by_seed.tolist(), strict=True)),
    )


def smallest_gap(differences: Float[np.ndarray, "seeds"]) -> float | None:
    """The gap that is found in 80 % of studies of this size, by how much the differences vary.

    None where there are too few seeds for any gap, or nothing varies.
    """
    effect = detectable_effect(len(differences))
    if effect is None or np.ptp(differences) < 1e-12:
        return None
    return effect * float(np.std(differences, ddof=1))


def rate_differences(first: Matrices, second: Matrices) -> Float[np.ndarray, "seeds tasks"]:
    """Final success of the first method minus that of the second, over the same seeds."""
    seeds = sorted(first)
    for seed in seeds:
        _check_paired(first[seed], second[seed], seed)
    difference: Float[np.ndarray, "seeds tasks"] = _final_rates(first, seeds) - _final_rates(
        second, seeds
    )
    return difference


def same_tasks(matrices: Matrices) -> bool:
    """Whether all seeds have the same tasks, in whatever order."""
    return len({frozenset(matrix.tasks) for matrix in matrices.values()}) == 1


def _by_stream(
    table: Float[np.ndarray, "seeds tasks"], repeated: bool
) -> Float[np.ndarray, "seeds values"]:
    """The table itself where its columns are tasks, else one value per stream."""
    return table if repeated else table.mean(axis=1, keepdims=True)


def _final_rates(matrices: Matrices, seeds: Sequence[int]) -> Float[np.ndarray, "seeds tasks"]:
    """Tasks by name, because seeds may train in different orders."""
    sizes = {len(matrices[seed].tasks) for seed in seeds}
    if len(sizes) != 1:
        raise BadInput(f"seeds have {sorted(sizes)} tasks; compare streams of one length")
    return np.array(
        [
            [matrices[seed].final(task).rate for task in sorted(matrices[seed].tasks)]
            for seed in seeds
        ]
    )


def _pooled(matrices: Matrices, seeds: Sequence[int]) -> tuple[int, int]:
    cells = [matrices[seed].final(task) for seed in seeds for task in matrices[seed].tasks]
    return sum(cell.successes for cell in cells), sum(cell.trials for cell in cells)


def _counts(pairs: Sequence[Pair], side: int) -> tuple[int, int]:
    """(successes, episodes) of one side under all conditions."""
    found = [_pooled(pair[side], sorted(pair[side])) for pair in pairs]
    return sum(successes for successes, _ in found), sum(trials for _, trials in found)


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
