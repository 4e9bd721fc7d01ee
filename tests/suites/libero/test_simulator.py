"""The simulator: what an initial state decides, and that nothing else does."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from phaser.core.errors import BadInput, PhaserError
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.protocol import PROTOCOLS, changed
from phaser.suites.libero.simulator import HAND_CAMERA, Simulator, axis_angle, rotation_vector
from phaser.suites.libero.tasks import task_named

PROTOCOL = changed(PROTOCOLS["phaser"], wait_steps=2)
pytestmark = pytest.mark.usefixtures("needs_libero")


def made(name: str = "put_the_bowl_on_the_stove", **fields: object) -> Simulator:
    protocol = changed(PROTOCOL, **fields)
    return Simulator(task_named(name), protocol, assets=assets_folder("libero-goal"))


def test_an_initial_state_decides_everything_whatever_came_before() -> None:
    simulator = made()
    simulator.place(3)
    first = simulator.physics()
    simulator.place(11)
    for _ in range(5):
        simulator.step(np.array([0.5, 0.5, -1.0, 0.2, 0.0, 0.0, 1.0]))
    simulator.place(3)
    assert np.array_equal(simulator.physics(), first)


def test_other_initial_states_and_other_fixture_seeds_are_other_places() -> None:
    simulator = made()
    simulator.place(3)
    cabinet = simulator.data.body("wooden_cabinet_1_main").xpos.copy()
    simulator.place(4)
    assert not np.array_equal(simulator.data.body("wooden_cabinet_1_main").xpos, cabinet)


def test_fixtures_in_sequence_depend_on_the_number_of_resets_not_on_the_order_of_asking() -> None:
    simulator = made(fixtures="in-sequence")
    places = {}
    for index in (2, 0, 1, 2, 0):
        simulator.place(index)
        found = simulator.data.body("flat_stove_1_main").xpos.copy()
        assert np.array_equal(places.setdefault(index, found), found)
    assert len({tuple(found) for found in places.values()}) == 3


def test_the_ten_goal_tasks_share_one_scene_one_episode_at_a_time() -> None:
    stove, plate = made(), made("put_the_bowl_on_the_plate")
    assert stove.model is plate.model
    stove.place(0)
    plate.place(0)
    with pytest.raises(PhaserError, match="one episode at a time"):
        stove.step(np.zeros(7))


def test_an_initial_state_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadInput, match="expected 0 to 49"):
        made().place(50)


def test_numpys_own_random_numbers_are_left_alone() -> None:
    simulator = made()
    np.random.seed(5)
    expected = np.random.RandomState(5).uniform()
    simulator.place(0)
    assert np.random.uniform() == expected


def test_the_hand_sees_nothing_of_what_is_left_out_behind_it() -> None:
    simulator = made()
    simulator.place(0)
    scene = simulator._scene
    drawn = scene.draw(HAND_CAMERA, simulator.protocol)
    assert np.array_equal(drawn, scene._renderer.draw(HAND_CAMERA, hidden=(0,)))
    assert drawn.std() > 20


def test_official_quality_is_official_also_after_a_fast_one() -> None:
    fast, official = made(), made(quality="official")
    fast.place(0)
    before = fast.images()["agentview"]
    official.place(0)
    assert not np.array_equal(official.images()["agentview"], before)
    fast.place(0)
    assert np.array_equal(fast.images()["agentview"], before)


def test_a_hand_that_points_down_has_small_angles_for_us_and_half_a_turn_for_others() -> None:
    ours, theirs = made(), made(state="pose")
    ours.place(0)
    assert np.abs(ours.state()[3:6]).max() < 0.3
    theirs.place(0)
    assert abs(np.linalg.norm(theirs.state()[3:6]) - np.pi) < 0.3
    assert len(made(state="joints").protocol.cameras) == 2


def test_turns_are_what_they_are() -> None:
    half = np.array([np.cos(0.2), 0.0, 0.0, np.sin(0.2)])
    assert np.allclose(axis_angle(half), [0, 0, 0.4])
    assert np.array_equal(axis_angle(np.array([1.0, 0, 0, 0])), np.zeros(3))
    about_z = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert np.allclose(rotation_vector(about_z), [0, 0, np.pi / 2])


@pytest.mark.slow
def test_a_protocol_gives_what_libero_itself_gives(tmp_path) -> None:
    """LIBERO's own environment, hard resets and all, stepped as OpenVLA's evaluation does it."""
    code = """
    import numpy as np
    from phaser.suites.libero.assets import assets_folder, package_folder
    from phaser.suites.libero.init_states import init_states
    from phaser.suites.libero.protocol import PROTOCOLS
    from phaser.suites.libero.runtime import libero_envs, use_assets
    from phaser.suites.libero.simulator import Simulator
    from phaser.suites.libero.tasks import task_named

    name, move = "put_the_bowl_on_the_plate", np.array([0.4, 0.1, -0.8, 0.1, 0.0, 0.2, 1.0])
    ours = Simulator(
        task_named(name), PROTOCOLS["openvla-oft"], assets=assets_folder("libero-goal")
    )
    seen = []
    for index in range(2):
        ours.place(index)
        for _ in range(4):
            ours.step(move)
        seen.append((ours.physics(), ours.state(), ours.images()))
    envs = libero_envs()
    use_assets(assets_folder("libero-goal"))
    problem = package_folder() / "bddl_files" / "libero_goal" / f"{name}.bddl"
    theirs = envs.OffScreenRenderEnv(
        bddl_file_name=str(problem), camera_heights=256, camera_widths=256
    )
    theirs.seed(0)
    for index, (physics, state, images) in enumerate(seen):
        theirs.env.reset()
        theirs.set_init_state(init_states("libero-goal", name)[index])
        for _ in range(10):
            theirs.step([0.0] * 6 + [-1.0])
        for _ in range(4):
            found, *_ = theirs.step(move)
        data = theirs.sim.data
        assert np.array_equal(np.concatenate([data.qpos, data.qvel]), physics)
        # robosuite reads sensors and cameras one or two substeps (of 25) before the step is over.
        assert np.abs(found["robot0_eef_pos"] - state[:3]).max() < 2e-3
        assert np.abs(found["robot0_gripper_qpos"] - state[6:]).max() < 2e-3
        for camera, image in images.items():
            raw = found[f"{camera}_image"].astype(int)
            as_told = np.abs(raw[::-1, ::-1] - image).mean()
            otherwise = min(np.abs(other - image).mean() for other in (raw, raw[::-1]))
            assert as_told < 1.5 < 10 < otherwise, (camera, as_told, otherwise)
    print("the same")
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "MUJOCO_GL": "osmesa"},
    )
    assert done.stdout.strip().endswith("the same"), done.stderr[-2000:]
