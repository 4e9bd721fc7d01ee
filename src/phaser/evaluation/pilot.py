"""From finished runs to the next design: how paired differences vary, and what follows for power.

A stream's difference is averaged over its budgets. What varies from stream to stream is partly the
noise of rollouts, which more rollouts reduce, and partly the streams themselves, which only more
streams average out. Rollout noise is estimated from the binomial counts as if two methods shared no
luck; they start from the same initial states, so it is rather over- than underestimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.evaluation.comparison import Matrices, rate_differences
from phaser.evaluation.intervals import Interval
from phaser.evaluation.power import power, power_of_equality, streams_needed

FEWEST_STREAMS = 3
"""Below this a spread is not estimated: with two streams its interval reaches 30 times itself."""
NUM_DRAWS = 200_000

Budgets = Mapping[str, Matrices]
"""The matrices of one method by budget, each by seed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """How a paired difference varies from stream to stream; all as fractions of 1."""

    mean: float
    deviation: float
    """Standard deviation over streams."""
    interval: Interval
    """95 % interval of the deviation, from a chi-square distribution."""
    rollout_deviation: float
    """What rollouts alone would make of it."""
    num_rollouts: int
    """Per task, in these runs."""

    def with_rollouts(self, num_rollouts: int, deviation: float | None = None) -> float:
        """The deviation with another number of rollouts per task.

        deviation: in place of the observed one, such as an end of its interval.
        """
        total = self.deviation if deviation is None else deviation
        noise = min(self.rollout_deviation, total) ** 2
        return float((total**2 - noise + noise * self.num_rollouts / num_rollouts) ** 0.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """What streams with a number of rollouts per task can find."""

    num_rollouts: int
    deviation: float
    power: Mapping[int, float]
    """To find the gap, by number of streams."""
    needed: int | None
    """Streams for 80 % power to find the gap; none up to 400."""
    needed_at_most: int | None
    """The same if the deviation is at the upper end of its interval."""
    needed_for_equality: int | None
    """Streams for 80 % power to show that methods without a difference are equal within the gap."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pilot:
    """The paired differences of two methods in runs that are finished."""

    streams: tuple[int, ...]
    budgets: tuple[str, ...]
    num_rollouts: int
    differences: Float[np.ndarray, "streams budgets"]
    noise: Float[np.ndarray, "streams budgets"]
    """The variance of each difference that comes from its rollouts."""

    def at(self, budget: str) -> Spread:
        """The spread at one budget."""
        column = self.budgets.index(budget)
        return self._spread(self.differences[:, column], self.noise[:, column])

    def over_budgets(self) -> Spread:
        """The spread of the mean over budgets."""
        count = len(self.budgets)
        return self._spread(self.differences.mean(axis=1), self.noise.sum(axis=1) / count**2)

    def correlation(self) -> float | None:
        """Mean correlation of the differences at two budgets; none where it is not defined."""
        if len(self.budgets) < 2 or np.any(np.ptp(self.differences, axis=0) < 1e-12):
            return None
        found = np.corrcoef(self.differences, rowvar=False)
        return float(found[np.triu_indices_from(found, k=1)].mean())

    def _spread(
        self, differences: Float[np.ndarray, "streams"], noise: Float[np.ndarray, "streams"]
    ) -> Spread:
        deviation = float(np.std(differences, ddof=1))
        low, high = _deviation_factors(len(differences))
        return Spread(
            mean=float(differences.mean()),
            deviation=deviation,
            interval=Interval(low * deviation, high * deviation),
            rollout_deviation=float(noise.mean() ** 0.5),
            num_rollouts=self.num_rollouts,
        )


def design(spread: Spread, *, gap: float, num_rollouts: int, numbers: Sequence[int]) -> Design:
    """The power of studies with this many rollouts per task.

    numbers: of streams, for which the power is given.
    """
    if spread.deviation < 1e-12:
        raise BadInput("the methods differ by the same in every stream; no spread to plan with")
    deviation = spread.with_rollouts(num_rollouts)
    upper = spread.with_rollouts(num_rollouts, spread.interval.upper)
    return Design(
        num_rollouts=num_rollouts,
        deviation=deviation,
        power={number: power(number, gap / deviation) for number in numbers},
        needed=streams_needed(gap / deviation),
        needed_at_most=streams_needed(gap / upper),
        needed_for_equality=streams_needed(gap / deviation, power_of_equality),
    )


def read_pilot(first: Budgets, second: Budgets) -> Pilot:
    """Pair two methods by stream and budget; refuse what cannot be averaged."""
    streams = sorted(_seeds(first) & _seeds(second))
    if len(streams) < FEWEST_STREAMS:
        raise BadInput(
            f"{len(streams)} streams have both methods; a spread needs at least {FEWEST_STREAMS}"
        )
    budgets = _budgets_of_all(first, second, streams)
    pairs = [_pair(first[one], second[one], streams) for one in budgets]
    return Pilot(
        streams=tuple(streams),
        budgets=tuple(budgets),
        num_rollouts=_rollouts(pairs),
        differences=np.stack([rate_differences(*pair).mean(axis=1) for pair in pairs], axis=1),
        noise=np.stack([_noise(*pair) for pair in pairs], axis=1),
    )


def _seeds(budgets: Budgets) -> set[int]:
    return {seed for matrices in budgets.values() for seed in matrices}


def _budgets_of_all(first: Budgets, second: Budgets, streams: Sequence[int]) -> list[str]:
    held = {
        seed: [one for one in first if seed in first[one] and seed in second.get(one, {})]
        for seed in streams
    }
    most = max(held.values(), key=len)
    for seed, budgets in held.items():
        if budgets != most:
            missing = ", ".join(one for one in most if one not in budgets)
            raise BadInput(
                f"stream {seed} lacks a budget that others have: {missing}; finish its runs or "
                "leave it out"
            )
    if not most:
        raise BadInput("the two methods have no budget in common; run both at the same budgets")
    return most


def _pair(first: Matrices, second: Matrices, streams: Sequence[int]) -> tuple[Matrices, Matrices]:
    return {seed: first[seed] for seed in streams}, {seed: second[seed] for seed in streams}


def _rollouts(pairs: Sequence[tuple[Matrices, Matrices]]) -> int:
    counts = {
        matrix.final(task).trials
        for pair in pairs
        for matrices in pair
        for matrix in matrices.values()
        for task in matrix.tasks
    }
    if len(counts) > 1 or min(counts) < 2:
        raise BadInput(
            f"runs have {sorted(counts)} rollouts per task at the end; power needs one number of "
            "at least 2, else their noise cannot be told from that of streams"
        )
    return counts.pop()


def _noise(first: Matrices, second: Matrices) -> Float[np.ndarray, "streams"]:
    return np.array(
        [_rollout_variance(first, seed) + _rollout_variance(second, seed) for seed in sorted(first)]
    )


def _rollout_variance(matrices: Matrices, seed: int) -> float:
    """The variance of a run's mean success over its tasks, unbiased in each of them."""
    cells = [matrices[seed].final(task) for task in matrices[seed].tasks]
    return sum(one.rate * (1 - one.rate) / (one.trials - 1) for one in cells) / len(cells) ** 2


def _deviation_factors(num_streams: int) -> tuple[float, float]:
    """Ends of a 95 % interval of a standard deviation, in units of the observed one."""
    freedom = num_streams - 1
    drawn = Streams(0).named("spread", num_streams)().chisquare(freedom, size=NUM_DRAWS)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float((freedom / high) ** 0.5), float((freedom / low) ** 0.5)
