"""Whole demonstrations are held out, at least one, and never all."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput
from phaser.demos.held_out import evenly_held_out, last_held_out

COUNTS, SHARES = st.integers(2, 500), st.floats(0.001, 0.999)


@given(COUNTS, SHARES)
def test_both_rules_hold_out_the_same_number_and_leave_some(count, share):
    evenly, last = evenly_held_out(count, share), last_held_out(count, share)
    assert len(evenly) == len(last) == min(max(1, round(share * count)), count - 1)
    assert evenly <= set(range(count))
    assert last == set(range(count - len(last), count))


@given(COUNTS, SHARES)
def test_held_out_ones_are_spread_evenly(count, share):
    places = sorted(evenly_held_out(count, share))
    gaps = [later - earlier for earlier, later in pairwise(places)]
    assert not gaps or max(gaps) - min(gaps) <= 1
    rest = count / len(places)
    assert places[0] <= rest
    assert count - 1 - places[-1] <= rest


def test_a_share_or_a_source_that_leaves_nothing_is_refused():
    for share in (0.0, 1.0, -0.5, 2.0):
        with pytest.raises(BadInput, match="above 0 and below 1"):
            evenly_held_out(10, share)
    with pytest.raises(BadInput, match="expected at least 2"):
        last_held_out(1, 0.1)
