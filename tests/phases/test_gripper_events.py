"""When a gripper closes or opens for good."""

from itertools import pairwise

import numpy as np
import pytest
from hands import demo_of
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.demonstration import ActionLayout
from phaser.phases.gripper import GripperEvent, gripper_events
from phaser.phases.signals import SignalRules

RULES = SignalRules()


def gripping(*commands, layout=None):
    columns = [np.asarray(one, dtype=float) for one in commands]
    actions = np.zeros((len(columns[0]), 3 + len(columns)))
    actions[:, 3:] = np.stack(columns, axis=1)
    dimensions = tuple(range(3, 3 + len(columns)))
    return demo_of(actions, layout=layout or ActionLayout(motion=(0, 1, 2), gripper=dimensions))


def steps(demo, rules=RULES):
    return [(one.step, one.closes) for one in gripper_events(demo, rules)]


def test_closing_and_opening_are_events_at_the_step_of_the_command():
    demo = gripping([-1] * 20 + [1] * 15 + [-1] * 9)
    assert steps(demo) == [(20, True), (35, False)]


def test_which_way_closes_is_a_setting():
    demo = gripping([-1] * 20 + [1] * 15)
    assert steps(demo, SignalRules(closing_sign=-1)) == [(20, False)]


def test_a_slow_closing_is_an_event_where_it_begins():
    ramp = np.concatenate([np.zeros(30), np.linspace(0, 0.08, 20)[1:], np.full(30, 0.08)])
    assert steps(gripping(ramp)) == [(30, True)]


def test_a_flicker_is_no_event():
    assert steps(gripping([-1] * 20 + [1] * 4 + [-1] * 30)) == []
    # Where a flicker leads to the other state, the first sign of it is the event.
    assert steps(gripping([-1] * 20 + [1, 1, -1, 1] + [1] * 30)) == [(20, True)]


def test_an_event_at_the_very_end_may_be_short():
    assert steps(gripping([-1] * 20 + [1] * 2)) == [(20, True)]


def test_two_grippers_have_their_own_events():
    left, right = [-1] * 10 + [1] * 30, [-1] * 25 + [1] * 15
    assert steps(gripping(left, right)) == [(10, True), (25, True)]
    # Both at nearly the same time are one event.
    right = [-1] * 12 + [1] * 28
    assert steps(gripping(left, right)) == [(10, True)]


def test_without_a_gripper_there_is_no_event():
    no_gripper = ActionLayout(motion=(0, 1, 2), gripper=())
    assert gripper_events(demo_of(np.ones((9, 3)), layout=no_gripper), RULES) == ()
    assert steps(gripping(np.full(30, 0.7))) == []


@given(
    commands=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=80),
    sign=st.sampled_from([1, -1]),
)
def test_events_of_any_command_take_turns_and_lie_inside(commands, sign):
    found = gripper_events(gripping(commands), SignalRules(closing_sign=sign))
    assert all(1 <= one.step < len(commands) for one in found)
    assert all(b.step - a.step >= 5 and a.closes != b.closes for a, b in pairwise(found))


def test_an_event_says_what_it_is():
    assert gripper_events(gripping([0] * 8 + [1] * 8), RULES) == (
        GripperEvent(step=8, closes=True),
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e9])
def test_the_unit_of_the_command_is_no_matter(scale):
    demo = gripping(np.array([-1] * 20 + [1] * 15) * scale)
    assert steps(demo) == [(20, True)]
