"""Names of phases: the instruction's verb, the gripper, and the way the hand goes."""

from itertools import accumulate

import numpy as np
import pytest
from hands import UPRIGHT, demo_of, lifted_by_hand
from hypothesis import given
from hypothesis import strategies as st
from synthetic import LAYOUT, scripted_demo

from phaser.phases.autopc import AutoPC
from phaser.phases.candidates import Candidate
from phaser.phases.labels import labels
from phaser.phases.verbs import asked

CLOSES, OPENS, TURNS = "gripper_closes", "gripper_opens", "turns"
FORWARD, BACK, SIDE = (0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0)
UP, DOWN = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)


def named(instruction, *phases, layout=UPRIGHT):
    """Phases of ten steps: how each begins, and where it goes."""
    ways = [way for _, way in phases]
    actions = np.concatenate([np.tile([*way, 0.0], (10, 1)) for way in ways])
    boundaries = [
        Candidate(step=step, score=1.0, evidence=frozenset({tag}))
        for step, (tag, _) in zip(accumulate([10] * (len(phases) - 1)), phases[1:], strict=True)
    ]
    return labels(boundaries, demo_of(actions, layout=layout, instruction=instruction))


def test_a_drawer_is_pulled_open_where_the_hand_goes_back():
    found = named("open the drawer", ("", FORWARD), (TURNS, DOWN), (TURNS, BACK), (TURNS, BACK))
    assert found == ("approach", "reach", "pull", "pull_2")


def test_a_nail_is_hit_with_what_was_lifted():
    found = named(
        "hit the nail with the hammer", ("", DOWN), (CLOSES, DOWN), (TURNS, UP), (TURNS, FORWARD)
    )
    assert found == ("approach", "grasp", "lift", "hit")


def test_what_is_picked_up_is_lifted_carried_and_placed():
    phases = [
        *(("", SIDE), (TURNS, DOWN), (CLOSES, DOWN), (TURNS, UP)),
        *((TURNS, FORWARD), (TURNS, DOWN), (OPENS, UP), (TURNS, BACK)),
    ]
    expected = ("approach", "align", "grasp", "lift", "transport", "place", "release", "retreat")
    assert named("pick up the ring and put it on the peg", *phases) == expected
    # Without words it is the same: the gripper and the way say it.
    assert named("", *phases) == expected


@pytest.mark.parametrize(
    ("instruction", "way", "name"),
    [
        ("open the middle drawer of the cabinet", BACK, "pull"),
        ("turn on the stove", SIDE, "turn"),
        ("push the mug under the machine", FORWARD, "push"),
        ("pull the handle up from the side", UP, "pull"),
        ("insert the peg into the hole", FORWARD, "insert"),
        ("sweep the object off the table", SIDE, "sweep"),
    ],
)
def test_what_is_held_is_moved_as_the_instruction_says(instruction, way, name):
    found = named(instruction, ("", DOWN), (CLOSES, DOWN), (TURNS, way), (OPENS, UP))
    assert found == ("approach", "grasp", name, "release")


def test_a_grasp_that_nothing_follows_is_named_by_what_is_done():
    found = named("pull the peg out of the hole", ("", DOWN), (TURNS, DOWN), (CLOSES, SIDE))
    assert found == ("approach", "align", "pull")
    # Where the hand does nothing more, it is a grasp; upwards, a lift.
    still = (0.0, 0.0, 0.1)
    assert named("pick up the cube", ("", DOWN), (CLOSES, still)) == ("approach", "grasp")
    assert named("pick up the cube", ("", DOWN), (CLOSES, UP)) == ("approach", "lift")
    assert named("", ("", DOWN), (CLOSES, UP), layout=LAYOUT) == ("approach", "grasp")


def test_two_things_asked_for_are_named_in_their_order():
    found = named(
        "open the top drawer and put the bowl inside",
        *(("", FORWARD), (CLOSES, BACK), (OPENS, UP), (TURNS, SIDE), (CLOSES, UP)),
    )
    assert found == ("approach", "pull", "release", "approach_2", "lift")


def test_what_is_closed_by_hand_after_the_last_release_is_pushed():
    found = named(
        "put the bowl in the drawer and close it",
        *(("", DOWN), (CLOSES, UP), (OPENS, UP), (TURNS, DOWN), (TURNS, FORWARD)),
    )
    assert found == ("approach", "lift", "release", "reach", "push")


def test_without_knowing_which_way_is_up_the_verb_and_the_gripper_say_it():
    phases = (("", FORWARD), (TURNS, DOWN), (TURNS, BACK))
    assert named("pull the drawer open", *phases, layout=LAYOUT) == ("approach", "pull", "pull_2")
    held = (("", FORWARD), (CLOSES, DOWN), (TURNS, UP))
    assert named("lift it", *held, layout=LAYOUT) == ("approach", "grasp", "transport")


def test_without_words_a_touch_is_a_push():
    assert named("", ("", FORWARD), (TURNS, SIDE), (TURNS, SIDE)) == ("approach", "push", "push_2")


def test_a_hand_that_only_goes_somewhere_reaches():
    found = named("move the hand over the wall to the goal", ("", UP), (TURNS, FORWARD))
    assert found == ("approach", "reach")


def test_a_lift_by_hand_is_called_lift():
    demo, _ = lifted_by_hand(instruction="lift the cube", layout=UPRIGHT, steps=(15, 24, 6))
    assert AutoPC().segment([demo])[0].labels[:2] == ("approach", "grasp")
    assert "push" not in " ".join(AutoPC().segment([demo])[0].labels)


@pytest.mark.parametrize(
    ("instruction", "names"),
    [
        ("pick up the ring and put it on the peg", ["transport"]),
        ("put both the soup and the sauce in the basket", ["transport", "transport"]),
        ("turn on the stove and put the moka pot on it", ["turn", "transport"]),
        ("put the yellow and white mug in the microwave and close it", ["transport", "push"]),
        ("grasp the stick and push the box with it", ["push"]),
        ("reach over the wall and press the button", ["press"]),
        ("Open the door, then unlock it.", ["pull", "turn"]),
        ("move the hand to the goal", ["reach"]),
        ("nut assembly square", []),
        ("", []),
    ],
)
def test_the_verbs_of_an_instruction_are_the_first_words_of_its_clauses(instruction, names):
    assert [one.name for one in asked(instruction)] == names


tags = st.sampled_from([TURNS, CLOSES, OPENS])
anywhere = st.sampled_from([FORWARD, BACK, SIDE, UP, DOWN, (0.0, 0.0, 0.0)])


@given(
    instruction=st.sampled_from(["", "open the door", "put both cups away", "hit it", "lift it up"])
    | st.text(max_size=40),
    phases=st.lists(st.tuples(tags, anywhere), min_size=1, max_size=9),
    layout=st.sampled_from([LAYOUT, UPRIGHT]),
)
def test_any_phases_get_as_many_different_names(instruction, phases, layout):
    found = named(instruction, *phases, layout=layout)
    assert len(set(found)) == len(found) == len(phases)
    assert found[0] == "approach"


def test_phases_before_the_first_grasp_find_the_object():
    """Rules that rehearse them know them by these names (routing/finding.py)."""
    found = named("push it", ("", SIDE), (TURNS, DOWN), (TURNS, SIDE), (CLOSES, DOWN))
    assert found[:3] == ("approach", "align", "align_2")
    assert AutoPC().segment([scripted_demo()])[0].labels == ("approach", "grasp", "transport")
