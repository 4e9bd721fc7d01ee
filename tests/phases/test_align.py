"""Boundaries carried to other demonstrations by their events, in order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import LAYOUT, scripted_demo

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.phases.align import Alignment
from phaser.phases.autopc import AutoPC
from phaser.phases.transfer import Placed

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def demo_of(actions, index=0):
    return Demo(
        task="t", index=index, actions=actions, states=np.zeros((len(actions), 1)), layout=LAYOUT
    )


def moving(*stretches):
    """One direction for so many steps, then the next; the gripper stays open."""
    blocks = [np.tile([*direction, -1.0], (length, 1)) for direction, length in stretches]
    return demo_of(np.concatenate(blocks))


def steps(placed):
    return [one.step for one in placed]


def sources(placed):
    return [one.source for one in placed]


REFERENCE = moving((X, 20), (Y, 20), (Z, 20))
RULE = Alignment()


def carried(reference, boundaries, other):
    """The boundaries of the first of two demonstrations in the second."""
    return RULE.carry(boundaries, [reference, other], reference=0)[1]


def test_boundaries_follow_the_events_of_a_demonstration_with_another_pace():
    other = moving((X, 40), (Y, 10), (Z, 12))
    placed = carried(REFERENCE, (20, 40), other)
    assert steps(placed) == [40, 50]
    assert sources(placed) == ["event", "event"]


def test_an_event_of_another_kind_is_passed_over():
    # Nearer to the ratio a turn the reference does not know; the one it knows is later.
    other = moving((X, 20), ((-1.0, 0.0, 0.0), 15), (X, 15), (Y, 20), (Z, 20))
    placed = carried(REFERENCE, (20, 40), other)
    assert steps(placed) == [50, 70]


def test_a_boundary_without_its_event_lies_between_its_neighbours_by_ratio():
    reference = moving((X, 20), (Y, 20), (Z, 20), (X, 20))
    other = moving((X, 40), (Z, 40), (X, 40))
    placed = carried(reference, (20, 30, 60), other)
    assert placed[2] == Placed(step=80, source="event")
    assert "ratio" in sources(placed)[:2]
    assert steps(placed) == sorted(steps(placed))


def test_without_events_all_boundaries_stay_at_their_ratios():
    still = demo_of(np.zeros((120, 4)))
    placed = carried(REFERENCE, (20, 40), still)
    assert steps(placed) == [40, 80]
    assert sources(placed) == ["ratio", "ratio"]


def test_the_reference_keeps_its_own_boundaries():
    other = moving((X, 40), (Y, 10), (Z, 12))
    placed = RULE.carry((7, 33), [other, REFERENCE], reference=1)[1]
    assert steps(placed) == [7, 33]


def test_no_boundaries_are_carried_to_none():
    assert carried(REFERENCE, (), moving((X, 10))) == ()


@pytest.mark.parametrize("wrong", [(0, 20), (20, 20), (40, 20), (20, 60)])
def test_boundaries_out_of_order_or_outside_are_refused(wrong):
    with pytest.raises(BadInput, match="expected increasing steps inside"):
        carried(REFERENCE, wrong, REFERENCE)


def test_a_demonstration_shorter_than_its_phases_is_refused():
    with pytest.raises(BadInput, match="2 frames cannot hold 3 phases"):
        carried(REFERENCE, (20, 40), moving((X, 2)))


@pytest.mark.parametrize("wrong", [{"unmatched": -1.0}, {"surroundings": 0}])
def test_senseless_prices_and_counts_are_refused(wrong):
    with pytest.raises(BadInput, match="expected at least 0"):
        Alignment(**wrong)


def test_auto_pc_aligns():
    demos = [
        scripted_demo((12, 6, 14), index=0),
        scripted_demo((12, 6, 14), index=1),
        scripted_demo((30, 8, 12), index=2),
    ]
    assert [one.boundaries for one in AutoPC().segment(demos)] == [(12, 18), (12, 18), (30, 38)]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 9999),
    lengths=st.tuples(st.integers(8, 120), st.integers(8, 120)),
    cuts=st.sets(st.floats(0.01, 0.99), min_size=1, max_size=5),
)
def test_any_demonstration_gets_every_boundary_in_order_and_every_phase_its_frames(
    seed, lengths, cuts
):
    rng = np.random.default_rng(seed)
    reference, other = (
        demo_of(np.repeat(rng.normal(size=(-(-length // 6), 4)), 6, axis=0)[:length])
        for length in lengths
    )
    wanted = sorted({min(max(int(cut * lengths[0]), 1), lengths[0] - 1) for cut in cuts})
    placed = carried(reference, wanted, other)
    phases = np.diff([0, *steps(placed), lengths[1]])
    assert len(placed) == len(wanted)
    assert phases.min() >= min(3, lengths[1] // (len(wanted) + 1))
