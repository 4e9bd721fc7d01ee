"""Equality within a margin: numbers worked by hand, and its level in simulated designs."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_matrices import matrix

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.evaluation.comparison import mean_paired_difference, paired_difference
from phaser.evaluation.equivalence import CONFIDENCE, equivalence
from phaser.evaluation.intervals import Interval
from phaser.evaluation.student import mean_interval

STREAM = Streams(0).named("test")
WITHIN = Interval(-0.01, 0.01)


def test_five_differences_inside_the_margin_show_equality_with_p_one_in_32() -> None:
    found = equivalence(np.array([0.01, -0.02, 0.0, 0.02, -0.01]), WITHIN, STREAM, margin=0.03)
    assert found.p_value == 1 / 32
    assert found.is_shown


def test_four_seeds_cannot_show_equality_however_equal_they_are() -> None:
    found = equivalence(np.zeros(4), WITHIN, STREAM, margin=0.03)
    assert found.p_value == 1 / 16
    assert not found.is_shown


def test_one_difference_beyond_the_margin_counts_by_how_far_it_is() -> None:
    # Distances to the upper margin are 3, 3, 3, 3 and -1: a sum of 11. Of the 32 flips only those
    # of the last one (13) and the observed signs reach it.
    found = equivalence(np.array([0.0, 0.0, 0.0, 0.0, 0.04]), WITHIN, STREAM, margin=0.03)
    assert found.p_value == 2 / 32
    assert not found.is_shown


def test_an_interval_that_leaves_the_margin_shows_nothing_whatever_p_says() -> None:
    found = equivalence(np.zeros(8), Interval(-0.01, 0.031), STREAM, margin=0.03)
    assert found.p_value <= 0.05
    assert not found.is_shown


@pytest.mark.parametrize("margin", [0.0, -0.03, 1.0, float("nan")])
def test_a_margin_that_makes_no_sense_is_refused(margin: float) -> None:
    with pytest.raises(BadInput, match="points; expected more than 0"):
        equivalence(np.zeros(5), WITHIN, STREAM, margin=margin)


def test_methods_that_differ_by_the_margin_are_called_equal_in_at_most_5_of_100_designs() -> None:
    generator = np.random.default_rng(0)
    shown, inside = [], []
    for _ in range(600):
        drawn = 0.03 + generator.normal(0, 0.02, size=8)
        interval = mean_interval(drawn[:, None], confidence=CONFIDENCE)
        shown.append(equivalence(drawn, interval, STREAM, margin=0.03).is_shown)
        inside.append(interval.upper < 0.03)
    assert np.mean(shown) <= 0.05 + 2 * (0.05 * 0.95 / 600) ** 0.5
    # The interval alone holds the level too where differences are normal; the test needs no shape.
    assert np.mean(inside) <= 0.05 + 2 * (0.05 * 0.95 / 600) ** 0.5


def test_equal_methods_are_shown_to_be_equal_where_enough_was_measured() -> None:
    generator = np.random.default_rng(1)
    shown = []
    for _ in range(200):
        drawn = generator.normal(0, 0.02, size=10)
        interval = mean_interval(drawn[:, None], confidence=CONFIDENCE)
        shown.append(equivalence(drawn, interval, STREAM, margin=0.03).is_shown)
    assert np.mean(shown) > 0.9


def test_streams_of_other_tasks_are_compared_stream_by_stream() -> None:
    good = {seed: matrix([f"a{seed}", f"b{seed}"], [8, 6]) for seed in range(6)}
    bad = {seed: matrix([f"a{seed}", f"b{seed}"], [7, seed]) for seed in range(6)}
    found = paired_difference(good, bad, STREAM)
    assert not found.same_tasks
    assert (found.num_seeds, found.num_tasks) == (6, 2)
    assert found.mean == pytest.approx(np.mean([(1 + 6 - seed) / 20 for seed in range(6)]))
    assert found.p_value == 2 / 64
    by_stream = np.array([[(1 + 6 - seed) / 20] for seed in range(6)])
    expected = mean_interval(by_stream)
    assert found.interval is not None
    assert expected is not None
    assert found.interval.lower == pytest.approx(expected.lower)
    assert found.interval.upper == pytest.approx(expected.upper)


def test_streams_of_different_lengths_are_refused() -> None:
    short = {0: matrix(["a", "b"], [1, 2]), 1: matrix(["a"], [1])}
    with pytest.raises(BadInput, match=r"seeds have \[1, 2\] tasks"):
        paired_difference(short, short, STREAM)


def test_a_mean_over_budgets_averages_each_streams_differences() -> None:
    def pair(first: int, second: int) -> tuple[dict, dict]:
        return (
            {seed: matrix(["a", "b"], [first, first]) for seed in (0, 1)},
            {seed: matrix(["a", "b"], [second, second + seed]) for seed in (0, 1)},
        )

    found = mean_paired_difference([pair(5, 4), pair(9, 4)], STREAM)
    assert found.mean == pytest.approx((0.1 + 0.05 + 0.5 + 0.45) / 4)
    assert found.num_seeds == 2
