"""Losses are compared pair by pair; what is not paired is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.evaluation.loss_comparison import estimate_loss, paired_loss_difference

STREAM = Streams(0).named("test")
LOSSES = st.floats(0.0, 10.0, allow_nan=False)


@given(st.lists(st.tuples(LOSSES, LOSSES, LOSSES), min_size=1, max_size=4))
def test_the_interval_holds_the_mean_and_no_negative_loss(table):
    losses = {seed: dict(zip("abc", row, strict=True)) for seed, row in enumerate(table)}
    found = estimate_loss(losses)
    values = np.array(table)
    assert found.mean == pytest.approx(values.mean())
    if np.ptp(values) < 1e-12:
        assert found.interval is None
    else:
        assert 0 <= found.interval.lower <= found.mean <= found.interval.upper
    assert (found.num_seeds, found.num_tasks) == values.shape


def test_one_loss_of_one_seed_says_nothing_about_others():
    found = paired_loss_difference({0: {"a": 0.1}}, {0: {"a": 0.3}}, STREAM)
    assert (found.interval, found.p_value, found.detectable) == (None, None, None)
    assert not found.is_clear


def test_only_common_seeds_make_pairs_and_tasks_are_matched_by_name():
    first = {0: {"a": 0.1, "b": 0.2}, 1: {"b": 0.3, "a": 0.1}, 2: {"a": 9.0, "b": 9.0}}
    second = {0: {"b": 0.4, "a": 0.3}, 1: {"a": 0.3, "b": 0.5}}
    found = paired_loss_difference(first, second, STREAM)
    assert found.mean == pytest.approx(-0.2)
    assert (found.num_seeds, found.num_tasks) == (2, 2)
    assert found.interval is None, "every pair differs by the same"
    assert found.p_value == 0.5


def test_what_is_not_paired_is_refused():
    with pytest.raises(BadInput, match="no common seed"):
        paired_loss_difference({0: {"a": 1.0}}, {1: {"a": 1.0}}, STREAM)
    with pytest.raises(BadInput, match="different tasks"):
        estimate_loss({0: {"a": 1.0}, 1: {"b": 1.0}})
