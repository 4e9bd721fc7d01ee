"""Scripted experts: how they follow their moves, and that they solve the Goal tasks."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import UnknownName
from phaser.suites.libero.experts.expert import EXPERTS, METRES_PER_COMMAND, Expert
from phaser.suites.libero.experts.goal import GOAL
from phaser.suites.libero.experts.moves import CLOSED, OPEN, Move, shifted, stay
from phaser.suites.libero.experts.world import DOWN, facing, rotation_vector, turn, vector
from phaser.suites.libero.tasks import SUITES, task_named

UNIT = st.floats(-1, 1, allow_nan=False)
TASK = "made up"


class Puppet:
    """Stands in for mujoco's data: a hand that obeys every motion command at once."""

    def __init__(self) -> None:
        self.hand = vector(0.0, 0.0, 1.0)

    def site(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(xpos=self.hand, xmat=DOWN.ravel())

    def obey(self, command: np.ndarray) -> None:
        self.hand = self.hand + METRES_PER_COMMAND * 0.4 * command[:3]


def stages_of(puppet: Puppet, moves: list[Move], monkeypatch, *, steps: int) -> list[str]:
    monkeypatch.setitem(EXPERTS, TASK, lambda world: moves)
    expert = Expert(TASK, None, puppet)
    stages = []
    for _ in range(steps):
        command, stage = expert.decide()
        puppet.obey(command)
        stages.append(stage)
    return stages


def go(stage: str, x: float, **fields) -> Move:
    return Move(stage=stage, target=lambda world: vector(x, 0, 1), grip=OPEN, **fields)


def test_moves_follow_each_other_and_then_the_hand_holds_still(monkeypatch) -> None:
    puppet = Puppet()
    stages = stages_of(puppet, [go("there", 0.2), go("back", 0.0)], monkeypatch, steps=40)
    assert list(dict.fromkeys(stages)) == ["there", "back", "hold"]
    assert np.linalg.norm(puppet.hand - [0, 0, 1]) < 0.012


def test_a_hand_that_holds_keeps_its_last_grip(monkeypatch) -> None:
    monkeypatch.setitem(EXPERTS, TASK, lambda world: [stay("close", CLOSED, steps=2)])
    expert = Expert(TASK, None, Puppet())
    assert [expert.decide()[0][6] for _ in range(4)] == [CLOSED] * 4
    assert expert.decide()[1] == "hold"


def test_a_stay_lasts_exactly_its_steps(monkeypatch) -> None:
    stages = stages_of(Puppet(), [stay("close", CLOSED, steps=7)], monkeypatch, steps=9)
    assert stages == ["close"] * 7 + ["hold"] * 2


def test_a_move_ends_when_its_time_is_up(monkeypatch) -> None:
    stages = stages_of(Puppet(), [go("far", 100.0, at_most=5)], monkeypatch, steps=7)
    assert stages == ["far"] * 5 + ["hold"] * 2


def test_a_move_ends_when_its_condition_holds(monkeypatch) -> None:
    move = go("far", 100.0, until=lambda world: world.hand[0] > 0.05)
    assert stages_of(Puppet(), [move], monkeypatch, steps=5) == ["far"] * 3 + ["hold"] * 2


def test_a_move_is_left_out_when_it_is_not_needed(monkeypatch) -> None:
    moves = [go("there", 0.1, unless=lambda world: True), go("back", 0.0)]
    assert stages_of(Puppet(), moves, monkeypatch, steps=1) == ["back"]


def test_what_failed_is_done_again_from_the_named_stage(monkeypatch) -> None:
    verdicts = iter([True, True, False])
    moves = [
        go("first", 0.0, at_most=1),
        go("reach", 100.0, at_most=1),
        go("lift", 100.0, at_most=1, again_from="reach", again_if=lambda world: next(verdicts)),
    ]
    stages = stages_of(Puppet(), moves, monkeypatch, steps=8)
    assert stages == ["first", *["reach", "lift"] * 3, "hold"]


def test_a_fixed_target_stays_where_it_was_read(monkeypatch) -> None:
    puppet = Puppet()
    rise = Move(stage="rise", target=shifted(z=0.1), grip=OPEN, fixed=True)
    stages_of(puppet, [rise], monkeypatch, steps=30)
    assert 0.08 < puppet.hand[2] - 1.0 < 0.11


@given(UNIT, UNIT, UNIT, st.floats(0.05, 1.0))
def test_commands_keep_their_direction_and_the_speed_of_the_move(x, y, z, speed) -> None:
    offset = vector(x, y, z)
    target = vector(0, 0, 1) + offset
    EXPERTS[TASK] = lambda world: [
        Move(stage="go", target=lambda world: target, grip=OPEN, speed=speed)
    ]
    try:
        command, _ = Expert(TASK, None, Puppet()).decide()
    finally:
        del EXPERTS[TASK]
    assert np.abs(command).max() <= 1.0
    assert np.abs(command[:3]).max() <= speed + 1e-12
    assert np.allclose(np.cross(command[:3], offset), 0, atol=1e-9)
    assert command[:3] @ offset >= 0


@given(UNIT, UNIT, UNIT, st.floats(0.01, 3.0))
def test_a_rotation_vector_undoes_turn(x, y, z, angle) -> None:
    axis = vector(x, y, z)
    if np.linalg.norm(axis) < 1e-3:
        return
    expected = axis / np.linalg.norm(axis) * angle
    assert np.allclose(rotation_vector(turn(axis, angle)), expected, atol=1e-6)


def test_a_hand_that_leans_a_quarter_turn_points_sideways() -> None:
    points_to = facing(lean=np.pi / 2)(None) @ vector(0, 0, 1)
    assert np.allclose(points_to, [0, -1, 0])


def test_every_goal_task_has_an_expert() -> None:
    assert tuple(GOAL) == SUITES["libero-goal"]


def test_a_task_without_expert_names_one_that_has_one() -> None:
    with pytest.raises(UnknownName, match="did you mean turn_on_the_stove"):
        Expert("turn_on_the_stov", None, None)


@pytest.fixture
def simulate(needs_libero):
    """Runs one episode: whether it was solved, the stages and the commands."""
    from phaser.suites.libero.assets import assets_folder
    from phaser.suites.libero.protocol import protocol_named
    from phaser.suites.libero.simulator import Simulator

    assets = assets_folder("libero-goal")

    def run(name: str, *, state: int, noise: float = 0.0, steps: int = 300):
        simulator = Simulator(task_named(name), protocol_named("phaser"), assets=assets)
        simulator.place(state)
        expert = Expert(name, simulator.model, simulator.data)
        generator = np.random.default_rng(state)
        commands, stages = [], []
        while len(stages) < steps:
            command, stage = expert.decide()
            commands.append(command.copy())
            stages.append(stage)
            command[:6] += noise * generator.standard_normal(6)
            if simulator.step(np.clip(command, -1, 1)):
                return True, stages, np.array(commands)
        return False, stages, np.array(commands)

    return run


@pytest.mark.parametrize("name", SUITES["libero-goal"])
def test_the_expert_solves_its_task(simulate, name) -> None:
    solved, stages, commands = simulate(name, state=17)
    assert solved
    assert "hold" not in stages
    assert np.abs(commands).max() <= 1.0


def test_an_expert_disturbed_by_noise_still_solves_its_task(simulate) -> None:
    assert simulate("put_the_bowl_on_the_stove", state=3, noise=0.2)[0]


def test_an_expert_decides_the_same_when_it_sees_the_same(simulate) -> None:
    first, again = (simulate("turn_on_the_stove", state=5, steps=40) for _ in range(2))
    assert first[1] == again[1]
    assert np.array_equal(first[2], again[2])
