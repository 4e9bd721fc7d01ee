"""Demonstrations by hand: mostly idle, the same way, boundaries at the first motion of a stage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.hard_teleoperation import (
    HARD_STYLES,
    at_own_speed,
    gripping_once,
    mostly_idle,
    overshooting,
)

STRETCHES = ((20, (1.0, 0.0, -0.5), -1.0), (15, (0.0, 0.6, 0.0), 1.0), (25, (-0.4, 0.0, 0.8), -1.0))
TRUE = (20, 35)
seeds = st.integers(0, 10_000)


def scripted():
    """Three stretches; the gripper closes with the second and opens with the third."""
    blocks = [np.tile([*way, grip], (length, 1)) for length, way, grip in STRETCHES]
    return np.concatenate(blocks)


def moving(actions):
    return np.abs(actions[:, :-1]).max(axis=1) > 0.1


@pytest.mark.parametrize("style", HARD_STYLES)
@settings(max_examples=15, deadline=None)
@given(seed=seeds)
def test_most_steps_are_idle_and_boundaries_are_where_the_gripper_changes(style, seed):
    actions, boundaries = HARD_STYLES[style](scripted(), TRUE, np.random.default_rng(seed))
    changes = np.flatnonzero(np.diff(actions[:, -1]) != 0) + 1
    # Here every stage begins with a gripper command, so its first action is at that step.
    assert boundaries == tuple(changes.tolist())
    assert 0.85 <= 1 - moving(actions).mean() <= 0.97


@given(seed=seeds)
def test_without_idle_steps_a_demonstration_is_what_it_was(seed):
    actions, _ = mostly_idle(scripted(), TRUE, np.random.default_rng(seed))
    np.testing.assert_array_equal(actions[moving(actions)], scripted())


@given(seed=seeds)
def test_keys_go_at_full_speed_or_not_at_all_and_the_same_way(seed):
    plain = scripted()
    actions, _ = mostly_idle(plain, TRUE, np.random.default_rng(seed), keys=True)
    assert set(np.unique(actions[:, :-1])) <= {-1.0, 0.0, 1.0}
    gone = actions[:, :-1].sum(axis=0) - plain[:, :-1].sum(axis=0)
    assert np.abs(gone).max() <= 1.0


@given(seed=seeds)
def test_too_far_is_followed_by_a_way_back(seed):
    actions, boundaries = overshooting(scripted(), TRUE, np.random.default_rng(seed))
    more = len(actions) - len(scripted())
    assert more in {0, *range(4, 17)}
    assert actions[boundaries[0], -1] == 1.0
    assert actions[boundaries[1], -1] == -1.0


@given(seed=seeds)
def test_a_person_of_another_speed_goes_the_same_way(seed):
    plain = scripted()
    actions, boundaries = at_own_speed(plain, TRUE, np.random.default_rng(seed))
    assert actions[:, :-1].sum(axis=0) == pytest.approx(plain[:, :-1].sum(axis=0), abs=4.0)
    changes = np.flatnonzero(np.diff(actions[:, -1]) != 0) + 1
    assert boundaries == tuple(changes.tolist())


def test_a_gripper_that_is_used_once_closes_and_stays():
    actions, boundaries = gripping_once(scripted(), TRUE, np.random.default_rng(0))
    assert (len(actions), boundaries) == (35, (20,))
