"""Our control step: robosuite's own bits, compiled with numba or not; a refusal where it has none.

Processes of tests have a compiled robosuite; its functions are also there as they were written.
"""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.controller import FastControl
from phaser.suites.libero.experts.expert import Expert
from phaser.suites.libero.operational_space import _pseudo_inverse, _turned, consecutive
from phaser.suites.libero.protocol import changed, protocol_named
from phaser.suites.libero.simulator import Simulator
from phaser.suites.libero.tasks import task_named

PUSHING = "push_the_plate_to_the_front_of_the_stove"
LEFT_BEHIND = ("qpos", "qvel", "ctrl", "qacc", "qacc_warmstart", "xpos", "site_xmat", "sensordata")
"""What a step leaves in `mjData` for the next step, for predicates and for cameras."""
COMPILED_BY_ROBOSUITE = {
    "robosuite.controllers.osc": ("opspace_matrices", "nullspace_torques", "orientation_error"),
    "robosuite.utils.transform_utils": ("mat2quat", "quat2mat", "matrix_inverse"),
}


@pytest.fixture
def simulator(needs_libero) -> Simulator:
    """Placed and not yet stepped, so that robosuite's controller still remembers the reset."""
    protocol = changed(protocol_named("phaser"), wait_steps=0)
    made = Simulator(task_named(PUSHING), protocol, assets=assets_folder("libero-goal"))
    made.place(3)
    return made


@pytest.fixture(params=[True, False], ids=["compiled", "not compiled"])
def compiled(request, simulator, monkeypatch) -> bool:
    """Whether robosuite's functions are as numba compiled them or as they were written."""
    if not request.param:
        for path, names in COMPILED_BY_ROBOSUITE.items():
            module = importlib.import_module(path)
            for name in names:
                monkeypatch.setattr(module, name, getattr(module, name).py_func)
    return request.param


def some_commands(count: int) -> np.ndarray:
    """Turning and not, down to the table, opening, closing and leaving the gripper alone."""
    rng = np.random.default_rng(0)
    commands = rng.uniform(-1, 1, (count, 7))
    commands[:, 2] -= 0.7
    commands[::3, 3:6] = 0.0
    commands[:, 6] = rng.integers(-1, 2, count)
    return commands


def left_behind(simulator: Simulator) -> list[np.ndarray]:
    return [getattr(simulator.data, name).copy() for name in LEFT_BEHIND]


def follow(
    simulator: Simulator, commands: np.ndarray, *, fast: list[bool], compiled: bool
) -> list[np.ndarray]:
    simulator.place(3)
    control = FastControl(simulator.domain, compiled=compiled)
    for command, quick in zip(commands, fast, strict=True):
        (control if quick else simulator.domain).step(command)
    return left_behind(simulator)


def same_bits(ours: list[np.ndarray], theirs: list[np.ndarray]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("steps", [1, 2, 20])
def test_steps_after_a_reset_leave_the_bits_that_robosuite_leaves(
    simulator, compiled, steps
) -> None:
    commands = some_commands(steps)
    theirs = follow(simulator, commands, fast=[False] * steps, compiled=compiled)
    ours = follow(simulator, commands, fast=[True] * steps, compiled=compiled)
    assert same_bits(ours, theirs)


def test_steps_of_both_kinds_may_follow_each_other(simulator, compiled) -> None:
    commands = some_commands(6)
    theirs = follow(simulator, commands, fast=[False] * 6, compiled=compiled)
    kinds = [True, False, False, True, True, False]
    mixed = follow(simulator, commands, fast=kinds, compiled=compiled)
    assert same_bits(mixed, theirs)


def test_an_expert_episode_that_pushes_along_the_table_is_the_same_episode(simulator) -> None:
    expert = Expert(PUSHING, simulator.model, simulator.data)
    plate = simulator.data.body("plate_1_main").xpos.copy()
    commands, ours = [], []
    for _ in range(70):
        commands.append(np.clip(expert.decide()[0], -1, 1))
        simulator.step(commands[-1])
        ours.append(simulator.physics())
    assert np.linalg.norm(simulator.data.body("plate_1_main").xpos - plate) > 0.02
    simulator.place(3)
    for command, physics in zip(commands, ours, strict=True):
        simulator.domain.step(command)
        assert np.array_equal(simulator.physics(), physics)


def test_torques_are_robosuites_wherever_the_arm_is(simulator, compiled) -> None:
    control = FastControl(simulator.domain, compiled=compiled)
    controller = simulator.domain.robots[0].controller
    for command in some_commands(12):
        control.step(command)
        simulator.domain.sim.forward()
        torques = control._space.torques()
        controller.new_update = True
        assert np.array_equal(torques, controller.run_controller())


@pytest.mark.parametrize("control_hz", [10, 30])
def test_other_control_frequencies_take_as_many_substeps_as_robosuite(
    simulator, control_hz
) -> None:
    domain = simulator.domain
    domain.initialize_time(control_hz)
    try:
        commands = some_commands(3)
        theirs = follow(simulator, commands, fast=[False] * 3, compiled=True)
        assert same_bits(follow(simulator, commands, fast=[True] * 3, compiled=True), theirs)
        assert simulator.data.time == pytest.approx(3 * int(500 / control_hz) * 0.002)
    finally:
        domain.initialize_time(20)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("impedance_mode", "variable_kp"),
        ("use_delta", False),
        ("uncoupling", False),
        ("interpolator_pos", "linear"),
        ("interpolator_ori", "linear"),
        ("name_suffix", "POSITION"),
    ],
)
def test_a_controller_that_works_otherwise_is_refused(
    simulator, monkeypatch, setting, value
) -> None:
    monkeypatch.setattr(simulator.domain.robots[0].controller, setting, value)
    with pytest.raises(BadInput, match=r"fast control reproduces .* use control='robosuite'"):
        FastControl(simulator.domain)


def test_an_integrator_that_mujoco_does_not_split_is_refused(simulator, monkeypatch) -> None:
    monkeypatch.setattr(simulator.model.opt, "integrator", 1)
    with pytest.raises(BadInput, match="integrator 0, not 1"):
        FastControl(simulator.domain)


@pytest.mark.parametrize("action", [np.zeros(6), np.full(7, np.nan), np.full(7, np.inf)])
def test_an_action_of_other_than_seven_finite_numbers_is_refused(simulator, action) -> None:
    before = left_behind(simulator)
    with pytest.raises(BadInput, match="seven finite numbers"):
        FastControl(simulator.domain).step(action)
    assert same_bits(left_behind(simulator), before)


@given(st.integers(0, 2**32 - 1), st.integers(0, 3), st.booleans())
def test_pseudo_inverses_have_numpys_bits_also_where_directions_are_lost(seed, lost, stack) -> None:
    rng = np.random.default_rng(seed)
    size = 3 if stack else 6
    half = rng.normal(size=(2, size, 7) if stack else (size, 7))
    half[..., :lost, :] = 0.0
    square = half @ half.swapaxes(-1, -2)
    assert np.array_equal(_pseudo_inverse(square), np.linalg.pinv(square))


@given(st.integers(0, 2**32 - 1))
def test_the_turn_to_the_goal_is_half_the_sum_of_cross_products(seed) -> None:
    goal, rotation = np.random.default_rng(seed).normal(size=(2, 3, 3))
    expected = 0.5 * np.cross(rotation, goal, axis=0).sum(axis=1)
    assert _turned(goal.tolist(), rotation.ravel().tolist()) == pytest.approx(expected.tolist())


def test_joints_that_are_not_neighbours_are_refused() -> None:
    assert consecutive([2, 3, 4]) == slice(2, 5)
    with pytest.raises(BadInput, match=r"\[0, 2, 3\]; expected neighbours"):
        consecutive([0, 2, 3])
