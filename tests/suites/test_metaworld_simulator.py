"""The simulator: a seed is an initial state, images show it, and the experts solve it."""

from __future__ import annotations

import numpy as np
import pytest

from phaser.core.errors import BadInput
from phaser.suites.frame_hash import hash_of, require_same_frames
from phaser.suites.metaworld.env import MetaWorldEnv
from phaser.suites.metaworld.libraries import Expert, make_simulator
from phaser.suites.metaworld.reference_frame import reference_hash
from phaser.suites.metaworld.tasks import LISTS, task_named
from phaser.suites.mujoco_library import mujoco

TEN = LISTS["metaworld-10"]


def follow_expert(env: MetaWorldEnv, num_steps: int) -> bool:
    expert = Expert(env.task.name)
    solved = [env.step(expert.act(env.full_state)) for _ in range(num_steps)]
    return any(solved)


@pytest.mark.parametrize("name", TEN)
def test_a_seed_gives_the_same_start_whatever_came_before(name: str) -> None:
    fresh, used = MetaWorldEnv(task_named(name)), MetaWorldEnv(task_named(name))
    used.place(5000)
    other_layout = used.full_state
    follow_expert(used, 30)
    for env in (fresh, used):
        env.place(5001)
    assert not np.array_equal(fresh.full_state, other_layout)
    assert np.array_equal(fresh.full_state, used.full_state)
    for env in (fresh, used):
        follow_expert(env, 20)
    assert np.array_equal(fresh.physics(), used.physics())


def test_the_first_images_of_a_seed_are_the_same_in_every_environment() -> None:
    first, second = (MetaWorldEnv(task_named("drawer-open")) for _ in range(2))
    second.reset(5003)
    hashes = [hash_of(env.reset(seed).images) for env in (first, second) for seed in (5001, 5002)]
    assert hashes[:2] == hashes[2:]
    assert hashes[0] != hashes[1]


@pytest.mark.parametrize("name", ["drawer-open", "window-close", "peg-unplug-side"])
def test_the_first_state_and_image_show_bodies_where_they_are(name: str) -> None:
    env = MetaWorldEnv(task_named(name))
    before = env.reset(5001)
    seen = env.full_state
    simulator = env._simulator
    mujoco().mj_forward(simulator.model, simulator.data)
    assert np.array_equal(simulator._get_obs()[:18], seen[:18])
    assert hash_of(env.observe().images) == hash_of(before.images)


@pytest.mark.parametrize("name", ["push", "reach", "pick-place", "hammer"])
def test_experts_see_the_goal_and_solve_the_task(name: str) -> None:
    env = MetaWorldEnv(task_named(name))
    env.place(5000)
    assert follow_expert(env, 150)
    env.place(5000)
    assert not any(env.step(np.zeros(4)) for _ in range(30))


def test_simplified_drawing_leaves_the_physics_bit_for_bit_as_it_was() -> None:
    env, official = MetaWorldEnv(task_named("hammer")), make_simulator("hammer")
    env.place(5000)
    official.seed(5000)
    official.reset()
    expert = Expert("hammer")
    for step in range(40):
        action = expert.act(env.full_state).astype(np.float64)
        env.step(action)
        if step % 10 == 0:
            env.observe()
        official.step(action)
    physics = np.concatenate([official.data.qpos, official.data.qvel])
    assert np.array_equal(env.physics(), physics)


def test_actions_beyond_one_are_clipped() -> None:
    one, other = (MetaWorldEnv(task_named("reach")) for _ in range(2))
    for env, scale in ((one, 1.0), (other, 7.0)):
        env.place(5000)
        for _ in range(5):
            env.step(scale * np.array([1.0, -1.0, 1.0, 1.0]))
    assert np.array_equal(one.physics(), other.physics())


def test_the_policy_sees_the_hand_and_two_cameras_but_no_object() -> None:
    env = MetaWorldEnv(task_named("reach"))
    observation = env.reset(5000)
    assert observation.state.shape == (4,)
    assert observation.state.dtype == np.float32
    assert {name: part.shape for name, part in observation.images.items()} == {
        "corner": (96, 96, 3),
        "gripper": (96, 96, 3),
    }
    assert all(part.std() > 10 for part in observation.images.values())
    assert observation.instruction == "move the hand to the goal"


def test_closing_one_renderer_leaves_the_others_intact() -> None:
    envs = [MetaWorldEnv(task_named(name)) for name in ("drawer-open", "hammer", "assembly")]
    expected = [hash_of(env.reset(5000).images) for env in envs]
    envs[0].close()
    assert hash_of(envs[1].observe().images) == expected[1]
    envs[2].close()
    assert hash_of(envs[1].observe().images) == expected[1]
    assert hash_of(envs[0].observe().images) == expected[0]


def test_the_frame_hash_fails_when_a_single_pixel_differs() -> None:
    image = np.zeros((4, 4, 3), np.uint8)
    changed = image.copy()
    changed[3, 3, 2] = 1
    recorded, drawn = hash_of({"corner": image}), hash_of({"corner": changed})
    require_same_frames(recorded, drawn=recorded, where="here")
    with pytest.raises(BadInput, match="draws another reference frame"):
        require_same_frames(recorded, drawn=drawn, where="here")


def test_the_reference_frame_is_drawn_alike_in_every_call() -> None:
    cached = reference_hash()
    reference_hash.cache_clear()
    assert reference_hash() == cached
