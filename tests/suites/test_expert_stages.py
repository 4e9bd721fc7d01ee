"""Ground truth: the stages of scripted experts, and that watching changes nothing."""

import sys
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phaser.suites.lasting_stages import lasting_stages
from phaser.suites.metaworld.env import MetaWorldEnv
from phaser.suites.metaworld.expert_stages import staged_demo, staged_demos
from phaser.suites.metaworld.libraries import Expert
from phaser.suites.metaworld.recording import MetaWorldRecording, record_episode
from phaser.suites.metaworld.seeds import SEEDS
from phaser.suites.metaworld.staged_expert import StagedExpert
from phaser.suites.metaworld.tasks import task_named

A, B, C = (frozenset({line}) for line in (10, 20, 30))


def test_a_watched_expert_acts_as_the_unwatched_one_and_leaves_no_trace():
    env = MetaWorldEnv(task_named("assembly"))
    env.place(1000)
    tracer = sys.gettrace()
    watched, _ = StagedExpert("assembly").decide(env.full_state)
    np.testing.assert_array_equal(watched, Expert("assembly").act(env.full_state))
    assert sys.gettrace() is tracer


def test_the_unseen_demonstration_is_the_recorded_one():
    env = MetaWorldEnv(task_named("drawer-open"))
    recording = MetaWorldRecording(max_steps=120)
    recorded = record_episode(env, 1000, recording)
    unseen = staged_demo(env, 1000, recording=recording)
    assert recorded is not None
    assert unseen is not None
    np.testing.assert_array_equal(unseen.demo.actions, recorded[0].actions)
    np.testing.assert_array_equal(unseen.demo.states, recorded[0].states)
    assert unseen.stages == recorded[1]
    env.close()


def test_an_expert_of_three_arms_has_two_boundaries():
    # Above the handle, down to it, pull: the arms of the expert's one if statement.
    for one in staged_demos(task_named("drawer-open"), SEEDS["train"], count=2):
        assert len(one.boundaries) == 2
        assert len({frozenset(stage) for stage in one.stages}) == 3
        assert len(one.stages) == one.demo.num_frames


def test_the_gripper_decision_is_part_of_the_stage():
    (one,) = staged_demos(task_named("pick-place"), SEEDS["train"], count=1)
    gripper = one.demo.actions[:, 3]
    changes = np.flatnonzero(np.diff(gripper)) + 1
    assert len(changes) > 0
    assert all(one.stages[step] != one.stages[step - 1] for step in changes)


def test_a_layout_that_is_not_solved_in_time_gives_no_demonstration():
    env = MetaWorldEnv(task_named("drawer-open"))
    assert staged_demo(env, 1000, recording=MetaWorldRecording(max_steps=5)) is None


def test_a_short_stage_belongs_to_the_next_one():
    stages = [A] * 10 + [B] * 3 + [C] * 10
    assert lasting_stages(stages) == ((A, 0), (C, 10))


def test_hesitating_at_a_threshold_begins_nothing_new():
    stages = [A] * 10 + [B] * 2 + [A] * 10 + [B] * 10
    assert lasting_stages(stages) == ((A, 0), (B, 22))


def test_returning_to_a_stage_for_long_is_a_boundary():
    stages = [A] * 10 + [B] * 10 + [A] * 10
    assert [step for _, step in lasting_stages(stages)] == [0, 10, 20]


@given(st.lists(st.sampled_from([A, B, C]), max_size=80), st.integers(1, 8))
def test_lasting_stages_differ_from_their_neighbours_and_are_long_enough(stages, shortest):
    found = lasting_stages(stages, shortest=shortest)
    steps = [step for _, step in found]
    assert steps == sorted(set(steps))
    assert all(later != earlier for (earlier, _), (later, _) in pairwise(found))
    assert all(b - a >= shortest for a, b in pairwise([*steps, len(stages)]))
