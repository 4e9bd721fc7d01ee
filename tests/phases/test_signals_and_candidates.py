"""The boundary score and its separated peaks."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from synthetic import LAYOUT, scripted_demo

from phaser.core.demonstration import ActionLayout, Demo
from phaser.core.errors import BadInput
from phaser.phases.candidates import candidates
from phaser.phases.signals import PAPER_RULES, SignalRules, signals

RULES = SignalRules()


def demo_of(actions, layout=LAYOUT):
    return Demo(
        task="t", index=0, actions=actions, states=np.zeros((len(actions), 1)), layout=layout
    )


def test_the_score_is_the_weighted_sum_of_its_three_terms():
    found = signals(scripted_demo(), PAPER_RULES)
    expected = 0.3 * found.motion_change + 1.0 * abs(found.gripper_change) + 0.4 * found.slow
    np.testing.assert_allclose(found.score, expected)
    # Step 12: x stops (change 1 of scale 1) and z stops (1 of 1): ‖Δa‖ = √2; the gripper closes
    # over its whole range (1); the slow stretch begins (0.4).
    assert found.score[12] == pytest.approx(0.3 * np.sqrt(2) + 1.0 + 0.4)
    # Steps 13 to 17: nothing changes, but each of them is slow.
    assert found.score[13:18].tolist() == pytest.approx([0.4] * 5)
    assert found.score[0] == 0


def test_the_papers_slow_term_counts_every_slow_step_and_ours_the_first():
    # Twenty speeds along x: the 15 % quantile is 0.2 + 0.85 * 0.1, so four steps are slow.
    speed = np.array([1.0] * 5 + [0.1, 0.1] + [1.0] * 7 + [0.2, 0.2] + [1.0] * 4)
    actions = np.stack([speed, 0 * speed, 0 * speed, 0 * speed], axis=1)
    every = signals(demo_of(actions), PAPER_RULES)
    assert np.flatnonzero(every.slow).tolist() == [5, 6, 14, 15]
    # ‖Δa‖ at the first slow step: from 1 to 0.1 of the scale 1; at the second nothing changes.
    assert every.score[5:7].tolist() == pytest.approx([0.3 * 0.9 + 0.4, 0.4])
    onset = signals(demo_of(actions), replace(PAPER_RULES, slow="onset"))
    assert np.flatnonzero(onset.slow).tolist() == [5, 14]
    assert onset.score[6] == 0


def test_at_one_speed_no_step_is_slow():
    assert not signals(demo_of(np.ones((20, 4))), PAPER_RULES).slow.any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"slow_quantile": 1.5},
        {"motion_weight": float("nan")},
        {"turn_evidence": float("inf")},
        {"suppression_window": 0},
        {"max_candidates": 0},
    ],
)
def test_settings_of_the_score_outside_their_range_are_refused(wrong):
    with pytest.raises(BadInput, match=f"{next(iter(wrong))}.*expected"):
        SignalRules(**wrong)


@pytest.mark.parametrize("wrong", [{"slow": "always"}, {"closing_sign": 0}])
def test_choices_of_the_score_that_do_not_exist_are_refused(wrong):
    # In tests the types are checked as well, and that comes first.
    with pytest.raises((BadInput, TypeError), match=next(iter(wrong))):
        SignalRules(**wrong)


def test_a_long_pause_is_one_event():
    found = signals(scripted_demo((12, 40, 14)), RULES)
    assert found.slow_onset.sum() == 1
    assert found.slow_onset[12]


def test_motion_in_other_units_scores_the_same():
    demo = scripted_demo()
    scaled = demo.actions * np.array([1000.0, 1000.0, 1000.0, 0.01])
    np.testing.assert_allclose(signals(demo, RULES).score, signals(demo_of(scaled), RULES).score)


def test_absolute_targets_are_scored_by_their_motion_not_their_place():
    steps = np.concatenate([np.ones((20, 1)), -np.ones((20, 1))])
    layout = ActionLayout(motion=(0,), gripper=(), convention="absolute")
    found = candidates(demo_of(np.cumsum(steps, axis=0) + 500, layout), RULES)
    assert [one.step for one in found if one.score > 0.3] == [20]


def test_evidence_says_what_happened_at_the_boundary():
    by_step = {one.step: one.evidence for one in candidates(scripted_demo(), RULES)}
    assert by_step[12] == {"gripper_closes", "turns", "slows"}
    assert by_step[18] == {"turns"}


def test_the_closing_direction_is_a_named_choice():
    found = candidates(scripted_demo(), SignalRules(closing_sign=-1))
    assert "gripper_opens" in {one.step: one.evidence for one in found}[12]


def test_a_motionless_demonstration_has_no_candidates():
    assert candidates(demo_of(np.zeros((30, 4))), RULES) == ()


def test_a_single_frame_has_no_candidates():
    assert candidates(demo_of(np.ones((1, 4))), RULES) == ()


any_actions = arrays(
    np.float64,
    st.tuples(st.integers(2, 120), st.just(4)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@settings(max_examples=150, deadline=None)
@given(
    actions=any_actions,
    convention=st.sampled_from(["delta", "absolute"]),
    rules=st.sampled_from([RULES, PAPER_RULES]),
)
def test_any_finite_actions_give_the_same_few_separated_steps_inside(actions, convention, rules):
    demo = demo_of(actions, ActionLayout(motion=(0, 1, 2), gripper=(3,), convention=convention))
    found = candidates(demo, rules)
    steps = [one.step for one in found]
    assert found == candidates(demo, rules)
    assert np.isfinite([one.score for one in found]).all()
    assert len(steps) <= 8
    assert all(later - earlier >= 5 for earlier, later in pairwise(steps))
    assert all(1 <= step < len(actions) for step in steps)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), num_frames=st.integers(1, 200))
def test_noise_gives_few_ordered_separated_steps_inside(seed, num_frames):
    actions = np.random.default_rng(seed).normal(size=(num_frames, 4))
    steps = [one.step for one in candidates(demo_of(actions), RULES)]
    assert len(steps) <= 8
    assert all(later - earlier >= 5 for earlier, later in pairwise(steps))
    assert all(1 <= step < num_frames for step in steps)
