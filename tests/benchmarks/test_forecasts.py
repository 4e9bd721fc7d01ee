"""Forecasts of interference against what is lost: the table and the correlation it is made of."""

import numpy as np
import pytest

from benchmarks.forecasts import HALVES, Agreement, table
from phaser.report.exhibits.correlations import partial_of_ranks, spearman


def agreement(forecast, half, value):
    return Agreement(
        forecast=forecast,
        half=half,
        method="er",
        spearman=value,
        low=value - 0.1,
        high=value + 0.1,
        given_recency=value / 2,
        num_transitions=12,
        num_streams=3,
    )


def test_the_best_forecast_on_the_half_that_chooses_comes_first():
    values = {"weak": (0.1, 0.9), "strong": (0.4, 0.2)}
    found = [
        agreement(name, half, value)
        for name, pair in values.items()
        for half, value in zip(HALVES, pair, strict=True)
    ]
    first, second = list(table(found))[2:]
    assert first == (
        "| er | strong | +0.40 [+0.30, +0.50]; given recency +0.20 | "
        "+0.20 [+0.10, +0.30]; given recency +0.10 | 3 |"
    )
    assert second.startswith("| er | weak |")


def test_a_rank_correlation_that_a_third_column_explains_is_gone_given_it():
    luck = np.random.default_rng(0)
    age = np.arange(200.0)
    forecast, rise = (list(age + luck.normal(scale=30, size=200)) for _ in range(2))
    assert spearman(forecast, rise).value > 0.6
    assert abs(partial_of_ranks(forecast, rise, list(age)).value) < 0.15


def test_a_rank_correlation_beside_a_third_column_stays_given_it():
    noise = [1.0, 4.0, 2.0, 9.0, 7.0, 3.0, 8.0, 5.0]
    assert partial_of_ranks(noise, noise, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).value == (
        pytest.approx(1.0)
    )
