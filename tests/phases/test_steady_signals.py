"""The score stays steady: pauses, single twitches and slow drifts make no boundary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from synthetic import LAYOUT

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.phases.autopc import AutoPC
from phaser.phases.signals import PAPER_RULES, SignalRules, _quantile, signals

TURN = 20


def demo_of(actions):
    return Demo(
        task="t", index=0, actions=actions, states=np.zeros((len(actions), 1)), layout=LAYOUT
    )


def turning(pause=0):
    """Along x, then along y; stopping for `pause` steps in the middle of the first stretch."""
    along_x, along_y = np.array([[1.0, 0, 0, -1]]), np.array([[0, 1.0, 0, -1]])
    still = np.array([[0.0, 0, 0, -1]])
    return np.concatenate(
        [
            np.repeat(along_x, TURN // 2, axis=0),
            np.repeat(still, pause, axis=0),
            np.repeat(along_x, TURN // 2, axis=0),
            np.repeat(along_y, 25, axis=0),
        ]
    )


@pytest.mark.parametrize("pause", [0, 5, 12, 40])
def test_a_pause_belongs_to_the_phase_it_interrupts(pause):
    found = AutoPC().segment([demo_of(turning(pause))])[0]
    assert found.boundaries == (TURN + pause,)


def test_a_trembling_pause_is_still_a_pause():
    actions = turning(20)
    still = slice(TURN // 2, TURN // 2 + 20)
    actions[still, :3] += np.random.default_rng(0).normal(0, 0.1, (20, 3))
    assert AutoPC().segment([demo_of(actions)])[0].boundaries == (TURN + 20,)


def test_a_pause_in_which_the_gripper_closes_is_a_boundary():
    actions = turning(20)
    actions[TURN // 2 + 10 :, 3] = 1.0
    assert AutoPC().segment([demo_of(actions)])[0].boundaries == (TURN // 2 + 10, TURN + 20)


def test_a_twitch_that_does_not_last_is_no_boundary():
    actions = turning()
    actions[8, :2] = [-1.0, 1.0]
    assert AutoPC().segment([demo_of(actions)])[0].boundaries == (TURN,)
    # One step against the next, as in the paper, there are two changes of full size.
    assert signals(demo_of(actions), PAPER_RULES).motion_change[8:10].min() > 1


def test_slowing_down_evenly_is_no_boundary():
    speed = np.linspace(1, 0.3, 60)
    actions = np.stack([speed, 0 * speed, 0 * speed, -np.ones(60)], axis=1)
    assert AutoPC().segment([demo_of(actions)])[0].boundaries == ()


def test_the_papers_rules_are_the_difference_of_neighbours():
    actions = np.random.default_rng(0).normal(size=(50, 4))
    scaled = actions[:, :3] / np.quantile(np.abs(actions[:, :3]), 0.95, axis=0)
    expected = np.linalg.norm(np.diff(scaled, axis=0), axis=1)
    found = signals(demo_of(actions), PAPER_RULES).motion_change
    np.testing.assert_allclose(found[1:], expected)


@pytest.mark.parametrize("num_frames", [1, 2, 4, 5, 9])
def test_short_demonstrations_are_scored_too(num_frames):
    actions = np.random.default_rng(1).normal(size=(num_frames, 4))
    assert np.isfinite(signals(demo_of(actions), SignalRules()).score).all()


def test_without_any_motion_there_is_one_phase():
    assert AutoPC().segment([demo_of(np.zeros((30, 4)))])[0].boundaries == ()


@pytest.mark.parametrize(
    "wrong", [{"change_window": 0}, {"context_window": -1}, {"idle_speed": -1.0}]
)
def test_senseless_windows_are_refused(wrong):
    with pytest.raises(BadInput, match="of at least"):
        SignalRules(**wrong)


@given(
    values=arrays(np.float64, st.tuples(st.integers(1, 60), st.just(2)), elements=st.floats(0, 9)),
    quantile=st.floats(0, 1),
)
def test_the_quick_quantile_is_numpys_to_the_bit(values, quantile):
    expected = np.quantile(values, quantile, axis=0)
    np.testing.assert_array_equal(_quantile(values, quantile), expected)
