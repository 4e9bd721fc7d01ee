"""Frames per phase: equal, exact, never beyond what a phase has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput
from phaser.memory.allocation import allocate


def test_equal_shares_when_they_divide():
    assert allocate(20, [100] * 4) == [5, 5, 5, 5]


def test_the_first_phase_with_room_absorbs_the_remainder():
    assert allocate(20, [100] * 3) == [8, 6, 6]
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
