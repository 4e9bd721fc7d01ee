"""Intervals of a mean hold the truth 94 to 96 times in 100, also with few streams."""

from __future__ import annotations

import numpy as np
import pytest

from phaser.core.errors import BadInput
from phaser.evaluation.student import mean_interval, standard_error, student_quantile

STUDIES = 3_000


def held(tables: np.ndarray, truth: float) -> float:
    """The share of tables whose interval holds the truth."""
    errors, degrees = standard_error(tables)
    reach = errors * np.array([student_quantile(one) for one in degrees.tolist()])
    return float(np.mean(np.abs(tables.mean(axis=(1, 2)) - truth) <= reach))


@pytest.mark.parametrize("degrees", [1.0, 2.0, 2.5, 5.0, 29.0, 1_000.0, 9_999.0])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_quantiles_are_those_of_scipy(degrees: float, confidence: float) -> None:
    special = pytest.importorskip("scipy.special", reason="needs scipy, which metaworld brings")
    expected = special.stdtrit(degrees, 0.5 + confidence / 2)
    assert student_quantile(degrees, confidence) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("streams", [3, 6, 20])
def test_an_interval_over_streams_holds_the_mean_94_to_96_times_in_100(streams: int) -> None:
    """Each stream: five tasks of ten rollouts, two methods whose policies vary by stream."""
    generator = np.random.default_rng(streams)

    def drawn(studies: int, count: int) -> np.ndarray:
        worse = generator.beta(4, 3, size=(studies, count))
        better = np.clip(worse + generator.normal(0.05, 0.1, size=worse.shape), 0, 1)
        rates = [generator.binomial(50, one) / 50 for one in (better, worse)]
        return rates[0] - rates[1]

    truth = float(drawn(1, 400_000).mean())
    assert 0.94 <= held(drawn(STUDIES, streams)[:, :, None], truth) <= 0.96


@pytest.mark.parametrize("seeds", [5, 8])
def test_an_interval_over_seeds_and_tasks_holds_the_mean(seeds: int) -> None:
    generator = np.random.default_rng(seeds)
    noise = generator.normal(0, 0.1, size=(STUDIES, seeds, 10))
    of_seeds = generator.normal(0, 0.08, size=(STUDIES, seeds, 1))
    of_tasks = generator.normal(0, 0.1, size=(STUDIES, 1, 10))
    assert 0.94 <= held(0.1 + of_seeds + of_tasks + noise, 0.1) <= 0.96
    # Where neither seeds nor tasks differ the interval is too wide, never too narrow.
    assert held(0.1 + noise, 0.1) > 0.96


def test_one_seed_has_an_interval_over_its_tasks_and_one_value_has_none() -> None:
    row = np.array([[0.0, 1.0, 1.0, 0.0]])
    assert mean_interval(row) == mean_interval(row.T)
    assert mean_interval(np.array([[0.5]])) is None
    assert mean_interval(np.full((3, 4), 0.5)) is None
    whole = mean_interval(row, bounds=(0.0, 1.0))
    assert whole is not None
    assert (whole.lower, whole.upper) == (0.0, 1.0)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(BadInput, match="seeds × tasks"):
        mean_interval(np.zeros((0, 3)))
    with pytest.raises(BadInput, match="degrees of freedom"):
        student_quantile(0.0)
