"""Frames per phase: equal, exact, never beyond what a phase has."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput
from phaser.memory.allocation import allocate, allocate_above_floor, allocate_by_root


def test_equal_shares_when_they_divide():
    assert allocate(20, [100] * 4) == [5, 5, 5, 5]


def test_a_remainder_is_spread_one_by_one():
    assert allocate(20, [100] * 3) == [7, 7, 6]
    assert allocate(9, [100] * 5) == [2, 2, 2, 2, 1]
    assert allocate(20, [6, 100, 100]) == [6, 7, 7]


def test_what_a_short_phase_leaves_goes_to_the_others_alike():
    # 5 each, phase 1 holds 2: its 3 go one each to the other three.
    assert allocate(20, [100, 2, 100, 100]) == [6, 2, 6, 6]


@pytest.mark.parametrize(
    ("total", "capacities", "zero", "message"),
    [
        (-1, [5, 5], None, "smaller than the 2 phases"),
        (1, [5, 5], None, "smaller than the 2 phases"),
        (11, [5, 5], None, "only 10 candidates"),
        (6, [5, 5], 0, "only 5 candidates"),
        (3, [5], 0, "one phase cannot"),
        (3, [], None, "no phase may hold"),
        (3, [5, 5], 2, "has 2 phases"),
        (3, [5, 5], -1, "has 2 phases"),
        (3, [5, 0], None, "at least 1 each"),
    ],
)
def test_impossible_budgets_are_refused(total, capacities, zero, message):
    with pytest.raises(BadInput, match=message):
        allocate(total, capacities, zero=zero)


@given(data=st.data(), capacities=st.lists(st.integers(1, 60), min_size=2, max_size=6))
def test_the_sum_is_exact_and_no_phase_is_starved(data, capacities):
    zero = data.draw(st.none() | st.integers(0, len(capacities) - 1))
    open_phases = [phase for phase in range(len(capacities)) if phase != zero]
    available = sum(capacities[phase] for phase in open_phases)
    total = data.draw(st.integers(len(open_phases), available))
    counts = allocate(total, capacities, zero=zero)
    assert sum(counts) == total
    assert all(0 <= count <= room for count, room in zip(counts, capacities, strict=True))
    floor = total // len(open_phases)
    assert all(counts[phase] >= min(floor, capacities[phase]) for phase in open_phases)
    assert zero is None or counts[zero] == 0


def test_by_the_root_a_phase_four_times_as_long_has_twice_as_many_frames():
    assert allocate_by_root(12, [400, 100, 100, 400]) == [4, 2, 2, 4]
    assert allocate_by_root(20, [90, 90]) == [10, 10]
    # Never none, never more than there are.
    assert allocate_by_root(4, [10_000, 1, 1]) == [2, 1, 1]
    assert allocate_by_root(60, [3, 100]) == [3, 57]
    with pytest.raises(BadInput, match="smaller than the 3 phases"):
        allocate_by_root(2, [5, 5, 5])


def test_above_a_floor_every_phase_has_half_an_equal_share_and_the_rest_goes_by_length():
    # Half an equal share of 20 frames on 4 phases is 2.5; a phase of 70 % has 7 more, others 1.
    assert allocate_above_floor(20, [70, 10, 10, 10]) == [10, 4, 3, 3]
    assert allocate_above_floor(20, [90, 90]) == [10, 10]
    assert allocate_above_floor(60, [3, 100]) == [3, 57]
    with pytest.raises(BadInput, match="smaller than the 3 phases"):
        allocate_above_floor(2, [5, 5, 5])


@pytest.mark.parametrize("shared", [allocate_by_root, allocate_above_floor])
@given(capacities=st.lists(st.integers(1, 300), min_size=1, max_size=8), data=st.data())
def test_unequal_shares_are_exact_in_sum_and_longer_phases_have_no_fewer(shared, capacities, data):
    total = data.draw(st.integers(len(capacities), sum(capacities)))
    counts = shared(total, capacities)
    assert sum(counts) == total
    assert all(1 <= count <= room for count, room in zip(counts, capacities, strict=True))
    ordered = sorted(zip(capacities, counts, strict=True))
    assert all(one[1] <= other[1] + 1 for one, other in pairwise(ordered))
