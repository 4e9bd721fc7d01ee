"""A comparison that is looked at after every stream errs in at most 5 of 100 studies."""

from __future__ import annotations

import numpy as np
import pytest

from phaser.evaluation.sequential import sequential, wealths

STUDIES, STREAMS = 2_000, 40


@pytest.mark.parametrize("kind", ["normal", "rollouts", "wild"])
def test_looking_after_every_stream_finds_a_difference_of_equal_methods_in_at_most_5_of_100(
    kind: str,
) -> None:
    generator = np.random.default_rng(0)
    shape = (STUDIES, STREAMS)
    if kind == "normal":
        drawn = generator.normal(0, 0.08, size=shape)
    elif kind == "rollouts":
        rates = generator.beta(2, 2, size=shape)
        drawn = (generator.binomial(50, rates) - generator.binomial(50, rates)) / 50
    else:
        drawn = np.clip(0.02 * generator.standard_cauchy(size=shape), -1, 1)
    ever = (wealths(drawn).max(axis=1) >= 20).mean()
    assert ever <= 0.05
    # A fixed test at 5 %, repeated at every look, errs several times as often.
    scores = np.cumsum(drawn, axis=1) / np.sqrt(np.cumsum(drawn**2, axis=1) + 1e-12)
    assert (np.abs(scores[:, 5:]) > 1.96).any(axis=1).mean() > 3 * ever


def test_its_interval_holds_the_difference_however_often_one_looks() -> None:
    generator = np.random.default_rng(1)
    held = []
    for _ in range(40):
        found = sequential((0.05 + generator.normal(0, 0.05, size=15)).tolist())
        held.append(0.05 in found.interval)
    assert np.mean(held) >= 0.92


def test_a_clear_difference_is_decided_after_few_streams() -> None:
    found = sequential([0.1] * 12)
    assert found.decided_after == 7
    assert found.p_value <= 0.05
    assert found.interval.lower > 0
    assert found.is_decided


def test_equal_methods_are_not_decided_and_nothing_is_nothing() -> None:
    found = sequential([0.1, -0.1, 0.05, -0.05, 0.0])
    assert not found.is_decided
    assert 0.0 in found.interval
    empty = sequential([])
    assert (empty.e_value, empty.p_value, empty.decided_after) == (1.0, 1.0, None)


def test_several_comparisons_share_the_error() -> None:
    one, three = (sequential([0.1] * 12, num_contrasts=count) for count in (1, 3))
    assert three.needed == 3 * one.needed
    assert (three.decided_after or 0) > (one.decided_after or 0)
