"""Methods compared by held-out loss, pair by pair: where success cannot be measured.

A pair is one (seed, task), as with success rates: the same demonstrations and the same order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.core.streams import Stream
from phaser.evaluation.comparison import PairedDifference, smallest_gap
from phaser.evaluation.intervals import Interval, sign_flip_p
from phaser.evaluation.student import mean_interval

Losses = Mapping[int, Mapping[str, float]]
"""Final held-out losses of one method: by seed, then by task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LossEstimate:
    """The held-out loss of a method after the last task, over its seeds and tasks."""

    mean: float
    interval: Interval | None
    """None where there is one loss alone, or none differs."""
    num_seeds: int
    num_tasks: int


def estimate_loss(losses: Losses) -> LossEstimate:
    """Mean over tasks and seeds, with an interval that allows for both."""
    table = _table(losses, sorted(losses))
    return LossEstimate(
        mean=float(table.mean()),
        interval=mean_interval(table, bounds=(0.0, math.inf)),
        num_seeds=table.shape[0],
        num_tasks=table.shape[1],
    )


def paired_loss_difference(first: Losses, second: Losses, stream: Stream) -> PairedDifference:
    """The first method's loss minus the second's over their common seeds; below 0 is better."""
    seeds = sorted(set(first) & set(second))
    if not seeds:
        raise BadInput(f"no common seed: {sorted(first)} against {sorted(second)}")
    difference = _table(first, seeds) - _table(second, seeds)
    return PairedDifference(
        mean=float(difference.mean()),
        interval=mean_interval(difference),
        num_seeds=len(seeds),
        num_tasks=difference.shape[1],
        p_value=sign_flip_p(difference.mean(axis=1), stream) if len(seeds) > 1 else None,
        detectable=smallest_gap(difference.mean(axis=1)),
        by_seed=dict(zip(seeds, difference.mean(axis=1).tolist(), strict=True)),
    )


def _table(losses: Losses, seeds: Sequence[int]) -> Float[np.ndarray, "seeds tasks"]:
    """Tasks by name, because seeds may train in different orders."""
    names = {tuple(sorted(losses[seed])) for seed in seeds}
    if len(names) != 1:
        raise BadInput(f"seeds have different tasks: {sorted(names)}; compare like with like")
    (tasks,) = names
    return np.array([[losses[seed][task] for task in tasks] for seed in seeds])
