"""Medians and ratios of pieces of work that take turns, so that load and heat hit all alike."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

Work = Callable[[int], object]
"""Called with a number that never repeats within a measurement."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ratio:
    """A median over rounds of (one / the baseline in the same round), with a 95 % interval."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, times: Sequence[float], baseline: Sequence[float]) -> "Ratio":
        ratios = np.asarray(times) / np.asarray(baseline)
        rng = np.random.default_rng(0)
        again = rng.integers(len(ratios), size=(4000, len(ratios)))
        low, high = np.quantile(np.median(ratios[again], axis=1), (0.025, 0.975))
        return cls(median=float(np.median(ratios)), low=float(low), high=float(high))


def seconds_per_call(
    works: Mapping[str, Work], *, rounds: int, calls: int = 1
) -> dict[str, list[float]]:
    """Per piece and round the mean CPU time of a call; the order turns from round to round."""
    names = list(works)
    for number, work in enumerate(works.values()):
        work(rounds * calls + number)
    taken: dict[str, list[float]] = {name: [] for name in names}
    with _no_collection():
        for turn in range(rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                work = works[name]
                begin = time.thread_time_ns()
                for call in range(turn * calls, (turn + 1) * calls):
                    work(call)
                taken[name].append((time.thread_time_ns() - begin) / 1e9 / calls)
    return taken


@contextmanager
def _no_collection() -> Iterator[None]:
    """A collection of a million list entries would hit whoever happens to be running."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
