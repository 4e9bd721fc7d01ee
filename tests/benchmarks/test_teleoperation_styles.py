"""Demonstrations as people give them: the same way, and boundaries at the same events."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.teleoperation import (
    STYLES,
    in_bursts,
    trembling,
    unevenly_fast,
    with_pauses,
)

STRETCHES = ((20, (1.0, 0.0, -0.5)), (15, (0.0, 0.6, 0.0)), (25, (-0.4, 0.0, 0.8)))
TRUE = (20, 35)
seeds = st.integers(0, 10_000)


def scripted():
    """Three stretches; the gripper command numbers them, so that each step is recognised."""
    blocks = [
        np.tile([*direction, float(number)], (length, 1))
        for number, (length, direction) in enumerate(STRETCHES)
    ]
    return np.concatenate(blocks)


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_a_boundary_is_the_first_step_of_its_phase_in_every_style(style, seed):
    actions, boundaries = STYLES[style](scripted(), TRUE, np.random.default_rng(seed))
    numbers = actions[:, -1]
    assert boundaries == tuple(int(np.flatnonzero(numbers == phase)[0]) for phase in (1, 2))


@given(seed=seeds)
def test_without_its_pauses_a_demonstration_is_what_it_was(seed):
    actions, _ = with_pauses(scripted(), TRUE, np.random.default_rng(seed))
    moving = np.abs(actions[:, :-1]).sum(axis=1) > 0
    np.testing.assert_array_equal(actions[moving], scripted())
    assert 8 <= (~moving).sum() <= 75


def test_bursts_press_keys_and_go_the_same_way():
    plain = scripted()
    actions, _ = in_bursts(plain, TRUE, np.random.default_rng(0))
    assert set(np.unique(actions[:, :-1])) <= {-1.0, 0.0, 1.0}
    way = np.cumsum(plain[:, :-1], axis=0) - np.cumsum(actions[:, :-1], axis=0)
    assert np.abs(way).max() <= 3.0


@given(seed=seeds)
def test_uneven_speed_keeps_the_way_within_a_few_steps(seed):
    plain = scripted()
    actions, _ = unevenly_fast(plain, TRUE, np.random.default_rng(seed))
    assert actions[:, :-1].sum(axis=0) == pytest.approx(plain[:, :-1].sum(axis=0), abs=3.0)


def test_trembling_leaves_the_gripper_alone():
    plain = scripted()
    actions, _ = trembling(plain, TRUE, np.random.default_rng(0))
    np.testing.assert_array_equal(actions[:, -1], plain[:, -1])
    assert not np.array_equal(actions[:, :-1], plain[:, :-1])
