"""Power by simulation, against numbers that are known without one."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from made_up_matrices import matrix

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.evaluation.comparison import smallest_gap
from phaser.evaluation.intervals import sign_flip_p
from phaser.evaluation.pilot import read_pilot
from phaser.evaluation.power import (
    detectable_effect,
    power,
    power_of_equality,
    streams_needed,
)


def test_six_streams_find_a_gap_only_if_all_six_agree() -> None:
    # p is 2 / 64 if all have one sign and at least 4 / 64 else.
    wanted = NormalDist().cdf(1.5) ** 6
    assert power(6, 1.5) == pytest.approx(wanted, abs=0.03)
    needed = NormalDist().inv_cdf(0.8 ** (1 / 6))
    assert detectable_effect(6) == pytest.approx(needed, abs=0.06)


def test_five_streams_find_nothing() -> None:
    assert power(5, 8.0) == 0.0
    assert detectable_effect(5) is None


@pytest.mark.parametrize("num_streams", [6, 8, 12, 30])
def test_without_a_gap_five_of_a_hundred_studies_find_one(num_streams: int) -> None:
    assert power(num_streams, 0.0) <= 0.065


def test_many_streams_have_the_power_of_the_textbook_formula() -> None:
    # (z of .975 + z of .8) / sqrt(n), which a test over 60 streams nearly reaches.
    formula = (1.960 + 0.842) / 60**0.5
    assert detectable_effect(60) == pytest.approx(formula, rel=0.06)
    assert streams_needed(formula) == pytest.approx(60, abs=7)


def test_an_effect_too_small_for_400_streams_is_said_to_be() -> None:
    assert streams_needed(0.05) is None


def test_a_wider_margin_is_shown_more_often() -> None:
    assert power_of_equality(12, 0.0) <= 0.05
    assert power_of_equality(12, 0.5) < power_of_equality(12, 1.0) < power_of_equality(12, 2.0)


def test_power_is_the_same_whenever_it_is_asked_for() -> None:
    assert power(15, 0.7) == power(15, 0.7)
    assert power(15, 0.7) > power(12, 0.7)


def test_the_smallest_gap_is_the_detectable_effect_times_the_deviation() -> None:
    differences = np.array([0.0, 0.02, 0.04, 0.0, 0.02, 0.04])
    effect = detectable_effect(6)
    assert effect is not None
    assert smallest_gap(differences) == pytest.approx(effect * np.std(differences, ddof=1))
    assert smallest_gap(np.zeros(8)) is None
    assert smallest_gap(differences[:5]) is None


def test_the_gap_that_a_design_can_find_is_found_in_80_of_100_such_designs() -> None:
    generator = np.random.default_rng(0)
    effect, found = detectable_effect(8), []
    assert effect is not None
    for _ in range(300):
        differences = 0.05 * (effect + generator.normal(size=8))
        found.append(sign_flip_p(differences, Streams(0).named("test")) <= 0.05)
    assert np.mean(found) == pytest.approx(0.8, abs=0.07)


def both(counts: list[tuple[int, int]], *, trials: int = 10) -> tuple[dict, dict]:
    """Two methods on streams of one task each, which has its own name in every stream."""
    return tuple(
        {
            seed: matrix([f"task-{seed}"], [pair[side]], trials=trials)
            for seed, pair in enumerate(counts)
        }
        for side in (0, 1)
    )  # type: ignore[return-value]


def test_a_pilot_tells_the_noise_of_rollouts_from_that_of_streams() -> None:
    first, second = both([(9, 1), (5, 1), (1, 1)])
    spread = read_pilot({"20": first}, {"20": second}).at("20")
    assert spread.mean == pytest.approx(0.4)
    assert spread.deviation == pytest.approx(0.4)
    # (.09 + .09) / 9, (.25 + .09) / 9 and (.09 + .09) / 9: their mean, and its root.
    noise = (0.18 + 0.34 + 0.18) / 27
    assert spread.rollout_deviation == pytest.approx(noise**0.5)
    assert spread.with_rollouts(10) == pytest.approx(0.4)
    assert spread.with_rollouts(20) == pytest.approx((0.16 - noise / 2) ** 0.5)
    # Chi-square with two degrees of freedom: 0.0506 and 7.378.
    assert spread.interval.lower == pytest.approx(0.4 * (2 / 7.378) ** 0.5, rel=0.02)
    assert spread.interval.upper == pytest.approx(0.4 * (2 / 0.0506) ** 0.5, rel=0.02)


def test_a_spread_below_what_rollouts_explain_is_taken_for_their_noise_alone() -> None:
    first, second = both([(6, 4), (5, 4), (6, 4)])
    spread = read_pilot({"20": first}, {"20": second}).at("20")
    assert spread.rollout_deviation > spread.deviation
    assert spread.with_rollouts(20) == pytest.approx(spread.deviation / 2**0.5)


def test_a_mean_over_budgets_averages_what_differs_between_them() -> None:
    one, other = both([(8, 4), (6, 4), (4, 4)]), both([(4, 4), (6, 4), (8, 4)])
    pilot = read_pilot({"5": one[0], "20": other[0]}, {"5": one[1], "20": other[1]})
    assert pilot.over_budgets().mean == pytest.approx(0.2)
    assert pilot.over_budgets().deviation == pytest.approx(0.0, abs=1e-12)
    assert pilot.correlation() == pytest.approx(-1.0)
    assert pilot.over_budgets().rollout_deviation == pytest.approx(
        ((0.40 + 0.48 + 0.48) / 27 / 2) ** 0.5
    )


def test_two_streams_are_no_pilot() -> None:
    first, second = both([(8, 4), (6, 4)])
    with pytest.raises(BadInput, match="2 streams have both methods; a spread needs at least 3"):
        read_pilot({"20": first}, {"20": second})


def test_a_stream_that_lacks_a_budget_is_named() -> None:
    first, second = both([(8, 4), (6, 4), (4, 4)])
    some = {seed: first[seed] for seed in (0, 1)}
    with pytest.raises(BadInput, match="stream 2 lacks a budget that others have: 50"):
        read_pilot({"20": first, "50": some}, {"20": second, "50": second})


def test_methods_at_different_budgets_are_refused() -> None:
    first, second = both([(8, 4), (6, 4), (4, 4)])
    with pytest.raises(BadInput, match="no budget in common"):
        read_pilot({"20": first}, {"50": second})


@pytest.mark.parametrize("trials", [1, 20])
def test_rollouts_that_cannot_be_split_off_are_refused(trials: int) -> None:
    first, second = both([(1, 0), (0, 1), (1, 1)], trials=trials)
    third, fourth = both([(1, 0), (0, 1), (1, 1)])
    with pytest.raises(BadInput, match="rollouts per task at the end"):
        read_pilot(
            {"20": first, "50": third if trials > 1 else first},
            {"20": second, "50": fourth if trials > 1 else second},
        )
