"""Scripted experts of LIBERO-Long: every task has one, and they solve them."""

import numpy as np
import pytest

from phaser.suites.libero.experts.expert import EXPERTS, Expert
from phaser.suites.libero.experts.long import LONG
from phaser.suites.libero.tasks import SUITES, task_named

NUM_STEPS = 520
STOVE = "KITCHEN_SCENE3_turn_on_the_stove_and_put_the_moka_pot_on_it"
DRAWER = "KITCHEN_SCENE4_put_the_black_bowl_in_the_bottom_drawer_of_the_cabinet_and_close_it"
PUDDING = (
    "LIVING_ROOM_SCENE6_put_the_white_mug_on_the_plate_"
    "and_put_the_chocolate_pudding_to_the_right_of_the_plate"
)


def test_every_long_task_has_an_expert() -> None:
    assert tuple(LONG) == SUITES["libero-10"]
    assert {name: EXPERTS[name] for name in LONG} == LONG


def stages_of(name: str, *, state: int, noise: float = 0.0) -> tuple[bool, list[str]]:
    """Runs one episode: whether it was solved, and the stages it went through."""
    from phaser.suites.libero.assets import assets_folder
    from phaser.suites.libero.protocol import protocol_named
    from phaser.suites.libero.simulator import Simulator

    assets = assets_folder("libero-10")
    simulator = Simulator(task_named(name), protocol_named("phaser"), assets=assets)
    simulator.place(state)
    expert, generator = Expert(name, simulator.model, simulator.data), np.random.default_rng(state)
    stages: list[str] = []
    for _ in range(NUM_STEPS):
        command, stage = expert.decide()
        assert np.abs(command).max() <= 1.0
        stages.append(stage)
        command[:6] += noise * generator.standard_normal(6)
        if simulator.step(np.clip(command, -1, 1)):
            return True, list(dict.fromkeys(stages))
    return False, list(dict.fromkeys(stages))


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        (STOVE, "twist", "reach pot"),
        (DRAWER, "reach bowl", "push"),
        (PUDDING, "reach white mug", "reach pudding"),
    ],
)
def test_the_expert_does_one_thing_and_then_the_other(
    needs_libero_long, name, first, second
) -> None:
    solved, stages = stages_of(name, state=17)
    assert solved
    assert "hold" not in stages
    assert stages.index(first) < stages.index(second)


def test_a_disturbed_expert_still_solves_its_task(needs_libero_long) -> None:
    assert stages_of(STOVE, state=3, noise=0.1)[0]
