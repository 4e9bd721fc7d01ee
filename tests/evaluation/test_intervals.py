"""Intervals cover what they promise to cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.evaluation.comparison import estimate_asr, paired_difference
from phaser.evaluation.intervals import holm, newcombe, sign_flip_p, wilson
from phaser.evaluation.matrix import Cell, SuccessMatrix

STREAM = Streams(0).named("test")


def test_wilson_gives_the_textbook_numbers() -> None:
    interval = wilson(8, 10)
    assert (interval.lower, interval.upper) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 10).upper == pytest.approx(0.2775, abs=1e-4)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_stays_in_the_unit_interval_and_holds_the_rate(counts: tuple[int, int]) -> None:
    interval = wilson(*counts)
    assert 0 <= interval.lower <= counts[0] / counts[1] <= interval.upper <= 1


def test_wilson_covers_the_truth_about_95_times_in_100() -> None:
    generator = np.random.default_rng(0)
    rates = generator.uniform(0.1, 0.9, size=4000)
    draws = generator.binomial(100, rates)
    covered = [rate in wilson(int(k), 100) for rate, k in zip(rates, draws, strict=True)]
    assert 0.94 <= np.mean(covered) <= 0.96


def test_wilson_refuses_impossible_counts() -> None:
    with pytest.raises(BadInput):
        wilson(1, 0)
    with pytest.raises(BadInput):
        wilson(1, 2, confidence=95.0)


def test_newcombe_gives_its_published_example() -> None:
    interval = newcombe((56, 70), (48, 80))
    assert (interval.lower, interval.upper) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_the_sign_flip_test_is_exact() -> None:
    assert sign_flip_p(np.array([0.1, 0.2, 0.3]), STREAM) == 2 / 8
    assert sign_flip_p(np.array([0.3]), STREAM) == 1.0
    assert sign_flip_p(np.array([0.1, -0.1]), STREAM) == 1.0
    assert sign_flip_p(np.full(20, 0.1), STREAM) < 1e-3


def matrices(
    rates: dict[int, tuple[int, int]], *, first_state: int = 0
) -> dict[int, SuccessMatrix]:
    states = tuple(range(first_state, first_state + 10))
    return {
        seed: SuccessMatrix(
            tasks=("a", "b"),
            cells={
                ("b", task): Cell(successes=k, env_seeds=states)
                for task, k in zip("ab", counts, strict=True)
            },
        )
        for seed, counts in rates.items()
    }


def test_a_difference_uses_only_the_seeds_that_both_have() -> None:
    good = matrices({0: (8, 9), 1: (7, 9), 5: (0, 0)})
    bad = matrices({0: (4, 6), 1: (3, 4), 9: (10, 10)})
    difference = paired_difference(good, bad, STREAM)
    assert difference.num_seeds == 2
    assert difference.mean == pytest.approx((0.4 + 0.3 + 0.4 + 0.5) / 4)
    assert difference.by_seed == pytest.approx({0: 0.35, 1: 0.45})
    assert difference.p_value == 0.5


def test_different_initial_states_are_not_a_pair() -> None:
    with pytest.raises(BadInput, match="different initial states"):
        paired_difference(matrices({0: (1, 2)}), matrices({0: (1, 2)}, first_state=5), STREAM)


def test_no_common_seed_is_not_a_pair() -> None:
    with pytest.raises(BadInput, match="no common seed"):
        paired_difference(matrices({0: (1, 2)}), matrices({1: (1, 2)}), STREAM)


def test_results_without_variation_never_look_certain() -> None:
    perfect = matrices({0: (10, 10), 1: (10, 10)})
    assert estimate_asr(perfect).interval.lower < 0.95
    difference = paired_difference(perfect, perfect, STREAM)
    assert difference.mean == 0.0
    assert difference.interval.lower < 0 < difference.interval.upper


def test_an_estimate_pools_its_episodes() -> None:
    estimate = estimate_asr(matrices({0: (8, 9), 1: (7, 6)}))
    assert (estimate.successes, estimate.trials, estimate.num_seeds) == (30, 40, 2)
    assert estimate.mean == pytest.approx(0.75)
    assert estimate.mean in estimate.interval


def test_holm_multiplies_the_smallest_most_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_holm_counts_only_the_comparisons_that_have_a_p_value() -> None:
    assert holm([0.02, None, 0.04]) == [0.04, None, 0.04]
    assert holm([None]) == [None]
