"""Demonstrations that people give: the gripper's events are always kept, and the user is told."""

from dataclasses import replace

import numpy as np
import pytest
from hands import DOWN, SIDE, UP, demo_of, lifted_by_hand, moves, wandering, with_idle
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import scripted_demo

from phaser.phases.annotated import Annotated, Annotation
from phaser.phases.autopc import AutoPC
from phaser.phases.signals import PAPER_RULES, SignalRules
from phaser.phases.stage_info import RatioPhase
from phaser.phases.verify import find_phases

OTHERS = (
    {"waits": (50, 75, 60)},
    {"waits": (90, 40), "steps": (18, 9, 20)},
    {"waits": (70,), "steps": (12, 16, 11)},
)


def by_hand(**more):
    made = [lifted_by_hand(index=k, **one, **more) for k, one in enumerate(OTHERS)]
    return [demo for demo, _ in made], [events for _, events in made]


def test_phases_by_hand_begin_at_the_events_of_each_demonstration():
    demos, events = by_hand()
    assert [one.boundaries for one in AutoPC().segment(demos)] == events


def test_the_grasp_is_a_boundary_in_every_demonstration_by_hand():
    made = [wandering(steps, waits=(90,), index=steps) for steps in (6, 8, 9)]
    demos, grasps = [demo for demo, _ in made], [grasp for _, grasp in made]
    found = AutoPC().segment(demos)
    assert all(grasp in cut.boundaries for cut, grasp in zip(found, grasps, strict=True))
    # With all steps, and by the score alone, as in 0.1.0, turns bury it.
    as_before = AutoPC(drop_idle="never", signals=SignalRules(gripper_first=False))
    for cut, grasp in zip(as_before.segment(demos), grasps, strict=True):
        assert min(abs(step - grasp) for step in cut.boundaries) > 40


def test_a_gripper_event_comes_before_stronger_turns():
    turns = [(12, motion) for motion in (SIDE, DOWN, (0.0, -1.0, 0.0), UP, SIDE, DOWN)]
    actions = moves(*turns, grip=(30,))
    actions[:, 3] = np.interp(np.arange(72), [30, 42], [-1, 1])
    demo = demo_of(actions)
    assert 31 in [one.step for one in AutoPC().candidates(demo)]
    assert AutoPC(max_phases=2).segment([demo])[0].boundaries == (31,)
    weak = AutoPC(max_phases=2, signals=SignalRules(gripper_first=False))
    assert weak.segment([demo])[0].boundaries != (31,)


def test_the_grasp_of_the_reference_is_the_grasp_of_the_others():
    """What Alignment finds alike elsewhere is no match for the gripper's own event."""
    usual = [scripted_demo((12, 6, 14), index=k) for k in range(2)]
    actions = scripted_demo((12, 6, 14)).actions
    late = np.concatenate([actions[:12], np.tile([0, 0, 0, -1.0], (25, 1)), actions[12:]])
    found = AutoPC().segment([*usual, demo_of(late, index=2)])
    assert [one.boundaries[0] for one in found] == [12, 12, 37]


def test_a_lost_grip_has_boundaries_too_where_people_gave_the_demonstrations():
    plain = moves((15, DOWN), (12, UP), (14, SIDE), grip=(15, 27))
    slipped = moves((15, DOWN), (8, UP), (8, DOWN), (12, UP), (14, SIDE), grip=(15, 22, 30, 43))
    usual = [demo_of(with_idle(plain, waits=(w,))[0], index=w) for w in (20, 30, 40)]
    actions, places = with_idle(slipped, waits=(25,))
    found = AutoPC(max_phases=9).segment([*usual, demo_of(actions, index=9)])
    assert {places[15], places[43]} <= set(found[3].boundaries)
    assert all(len(one.phases) == len(found[0].phases) for one in found)


def test_boundaries_of_people_may_lie_among_idle_steps():
    demos, _ = by_hand()
    phases = (
        RatioPhase(name="first", start_ratio=0.0, end_ratio=0.5),
        RatioPhase(name="second", start_ratio=0.5, end_ratio=0.505),
        RatioPhase(name="third", start_ratio=0.505, end_ratio=1.0),
    )
    annotation = Annotation(task="t", phases=phases)
    found = Annotated(annotation=annotation, segmenter=AutoPC()).segment(demos)
    assert [one.labels for one in found] == [("first", "second", "third")] * 3


def test_the_user_is_told_that_most_steps_are_idle_and_what_was_done():
    demos, _ = by_hand()
    (said,) = AutoPC().remarks(demos)
    assert said == (
        "96% of the steps are idle in all demonstrations; phases were found on the steps that "
        "move and are given in original steps"
    )
    (said,) = AutoPC(drop_idle="never").remarks(demos)
    assert said.endswith("phases were found on all steps, because idle ones were not left out")
    still = demo_of(np.zeros((50, 4)), index=7)
    (said,) = AutoPC().remarks([*demos, scripted_demo(index=5), still])
    assert "idle in 4 of 5 demonstrations" in said
    assert said.endswith("original steps, except in 1 that hardly move")
    assert AutoPC().remarks([scripted_demo()]) == ()
    assert find_phases(demos, instruction="", auto=AutoPC()).remarks == AutoPC().remarks(demos)


def test_the_picture_of_phases_has_its_score_in_original_steps():
    demo, (grasp, _) = lifted_by_hand()
    score = AutoPC().score(demo)
    assert len(score) == demo.num_frames
    assert int(np.argmax(score)) == grasp
    assert grasp in [one.step for one in AutoPC().candidates(demo)]


ways = st.sampled_from([DOWN, UP, SIDE, (1.0, 0.0, 0.0), (-1.0, 0.0, 0.2), (0.0, 0.0, 0.0)])
scripts = st.lists(st.tuples(st.integers(3, 12), ways), min_size=1, max_size=5)


@settings(max_examples=80, deadline=None)
@given(
    made=st.lists(
        st.tuples(
            scripts, st.lists(st.integers(1, 30), max_size=2), st.sampled_from([(), (18, 40)])
        ),
        min_size=1,
        max_size=6,
    ),
    boundaries=st.sampled_from(["per-demo", "ratio"]),
    seed=st.integers(0, 99),
)
def test_the_order_of_the_demonstrations_changes_nothing(made, boundaries, seed):
    several = []
    for stretches, grips, waits in made:
        plain = moves(*stretches, (3, SIDE), grip=[step for step in sorted(grips) if step < 9])
        several.append(with_idle(plain, waits=waits)[0] if waits else plain)
    auto = AutoPC(boundaries=boundaries)
    order = np.random.default_rng(seed).permutation(len(several))
    # Numbers say where a demonstration stands, so they are given anew.
    first = [demo_of(one, index=k) for k, one in enumerate(several)]
    second = [demo_of(several[position], index=k) for k, position in enumerate(order)]
    chosen, again = auto.reference(first), auto.reference(second)
    np.testing.assert_array_equal(first[chosen].actions, second[again].actions)
    found = auto.segment(first)
    assert auto.segment(second) == tuple(found[position] for position in order)


def test_of_two_demonstrations_the_reference_is_the_same_one_in_either_order():
    one, other = scripted_demo((12, 6, 14)), scripted_demo((15, 5, 12))
    chosen = [AutoPC().reference(pair) for pair in ((one, other), (other, one))]
    assert sorted(chosen) == [0, 1]


@pytest.mark.parametrize("wrong", [{"drop_idle": "sometimes"}, {"min_score": float("nan")}])
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(Exception, match=next(iter(wrong))):
        replace(AutoPC(), **wrong)


def test_the_papers_rules_leave_the_gripper_its_own_weight_only():
    assert not PAPER_RULES.gripper_first
    assert not any(one.grips for one in AutoPC(signals=PAPER_RULES).candidates(scripted_demo()))
