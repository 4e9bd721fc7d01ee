"""Idle steps are taken out of time, and everything comes back in original steps."""

import numpy as np
import pytest
from hands import DOWN, SIDE, UP, demo_of, lifted_by_hand, moves, with_idle
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from phaser.core.demonstration import ActionLayout
from phaser.phases.autopc import AutoPC
from phaser.phases.lapse import idle_steps, lapse
from phaser.phases.signals import SignalRules

RULES = SignalRules()


def test_steps_without_motion_are_idle_and_a_gripper_command_is_not():
    actions = moves((10, DOWN), (10, (0.0, 0.0, 0.0)), (10, UP), grip=(14,))
    idle = idle_steps(demo_of(actions), RULES)
    assert np.flatnonzero(idle).tolist() == [*range(10, 14), *range(15, 20)]


def test_what_a_released_space_mouse_still_says_is_idle():
    actions = moves((10, DOWN), (80, (0.0, 0.0, 0.0)), (10, UP))
    actions[10:90, :3] = np.random.default_rng(0).normal(0, 0.01, (80, 3))
    assert idle_steps(demo_of(actions), RULES).sum() == 80


def test_a_slow_gripper_keeps_some_steps_of_a_standing_hand():
    actions = moves((10, DOWN), (40, (0.0, 0.0, 0.0)), (10, UP))
    actions[:, 3] = np.interp(np.arange(60), [15, 35], [-1, 1])
    idle = idle_steps(demo_of(actions), RULES)
    assert 3 <= (~idle[10:50]).sum() <= 6
    # The first step of the movement is an event, and stays.
    assert 16 in lapse(demo_of(actions), RULES, drop_idle="always").steps


@pytest.mark.parametrize(
    ("share", "choice", "taken"),
    [
        (0.9, "auto", True),
        (0.3, "auto", False),
        (0.3, "always", True),
        (0.9, "never", False),
        (0.0, "always", False),
    ],
)
def test_idle_steps_are_taken_out_where_they_are_most_or_on_request(share, choice, taken):
    idle = int(40 * share / (1 - share))
    demo = demo_of(moves((20, DOWN), (idle, (0.0, 0.0, 0.0)), (20, SIDE)))
    found = lapse(demo, RULES, drop_idle=choice)
    assert (len(found.steps) == 40) is taken or share == 0.0
    assert (found.demo is demo) is not taken
    assert found.by_hand is (taken and share > 0.5)
    assert found.idle_share == pytest.approx(share, abs=0.01)


def test_a_demonstration_that_hardly_moves_stays_whole():
    demo = demo_of(moves((6, DOWN), (200, (0.0, 0.0, 0.0)), (6, SIDE)))
    assert lapse(demo, RULES).demo is demo
    assert AutoPC().segment([demo])[0].num_frames == 212


def test_kept_steps_lead_back_to_original_ones():
    demo, (grasp, turn) = lifted_by_hand()
    found = lapse(demo, RULES)
    assert [found.original(found.kept(step)) for step in (grasp, turn)] == [grasp, turn]
    assert found.original(len(found.steps)) == demo.num_frames
    assert [found.original(one.step) for one in found.grips] == [grasp]


def test_absolute_targets_are_idle_where_they_stay_and_are_read_as_motions():
    plain, places = with_idle(moves((21, SIDE), (21, UP)), waits=(25,))
    targets = np.column_stack([np.cumsum(plain[:, :3], axis=0) + 300, plain[:, 3]])
    layout = ActionLayout(motion=(0, 1, 2), gripper=(3,), convention="absolute")
    found = AutoPC().segment([demo_of(targets, layout=layout)])[0]
    assert found.boundaries == (places[21],)


@settings(max_examples=40, deadline=None)
@given(
    waits=st.lists(st.integers(12, 60), min_size=1, max_size=8),
    every=st.integers(2, 9),
    drop=st.sampled_from(["auto", "always"]),
)
def test_however_long_people_wait_the_same_events_are_found(waits, every, drop):
    plain = moves((15, DOWN), (14, UP), (16, SIDE), grip=(15,))
    actions, places = with_idle(plain, waits=waits, every=every)
    found = AutoPC(drop_idle=drop).segment([demo_of(actions)])[0]
    assert found.boundaries == (places[15], places[29])
    assert found.num_frames == len(actions)


def test_a_short_way_back_belongs_to_the_phase_that_went_too_far():
    plain = moves((20, SIDE), (3, (0.0, -0.9, 0.0)), (20, DOWN))
    actions, places = with_idle(plain, waits=(25,))
    assert AutoPC().segment([demo_of(actions)])[0].boundaries == (places[23],)
    # A way back that lasts is a phase.
    plain = moves((20, SIDE), (12, (0.0, -0.9, 0.0)), (20, DOWN))
    actions, places = with_idle(plain, waits=(25,))
    assert AutoPC().segment([demo_of(actions)])[0].boundaries == (places[20], places[32])


def test_keys_say_a_direction_over_a_whole_burst():
    # Every burst goes two steps along x and y together and two along x alone: one direction.
    burst = [(2, (1.0, 1.0, 0.0)), (2, (1.0, 0.0, 0.0))]
    plain = moves(*burst * 6, *[(4, (0.0, 0.0, -1.0))] * 6)
    actions, places = with_idle(plain, waits=(40,), every=4)
    assert AutoPC().segment([demo_of(actions)])[0].boundaries == (places[24],)


def test_a_slow_turn_counts_as_much_as_a_fast_one():
    slow = moves((20, UP), (20, (0.0, 0.25, 0.0)), (20, (0.25, 0.0, 0.0)))
    actions, places = with_idle(slow, waits=(30,))
    assert AutoPC().segment([demo_of(actions)])[0].boundaries == (places[20], places[40])
    # Only where most steps are idle: elsewhere small changes are small.
    assert AutoPC().segment([demo_of(slow)])[0].boundaries == (20,)


@settings(max_examples=60, deadline=None)
@given(
    several=st.lists(
        arrays(
            np.float64,
            st.tuples(st.integers(6, 60), st.just(4)),
            elements=st.one_of(st.just(0.0), st.floats(allow_nan=False, allow_infinity=False)),
        ),
        min_size=1,
        max_size=4,
    ),
    drop=st.sampled_from(["auto", "always", "never"]),
    boundaries=st.sampled_from(["per-demo", "ratio"]),
)
def test_any_actions_with_and_without_idle_steps_are_cut_whole(several, drop, boundaries):
    demos = [demo_of(one, index=k) for k, one in enumerate(several)]
    found = AutoPC(drop_idle=drop, boundaries=boundaries).segment(demos)
    assert [one.num_frames for one in found] == [len(one) for one in several]
    assert len({one.labels for one in found}) == 1
