"""What is decided before a phase begins, by hand."""

import pytest

from benchmarks.looks import decided_before, measure, never_looked_at


def test_a_phase_of_six_steps_is_half_decided_before_it_begins():
    # Looks every 8 steps: the next one is 0 to 7 steps after the phase has begun.
    assert decided_before(6, 8) == pytest.approx((0 + 1 + 2 + 3 + 4 + 5 + 6 + 6) / 8 / 6)
    assert never_looked_at(6, 8) == pytest.approx(2 / 8)
    assert never_looked_at(8, 8) == 0


def test_who_looks_at_every_step_decides_nothing_before():
    assert decided_before(3, 1) == 0


def test_shares_are_weighed_by_steps():
    rows = {one.kind: one for one in measure([4, 12, 12], 8)}
    assert rows["up to 4 steps"].share_of_steps == pytest.approx(4 / 28)
    assert rows["9 to 16"].stretches == 2
    expected = (4 * decided_before(4, 8) + 24 * decided_before(12, 8)) / 28
    assert rows["all"].decided_before == pytest.approx(expected)
