"""A protocol is data: each field does what it says, and a published name is never a lie."""

import json

import numpy as np
import pytest

from phaser.core.errors import BadInput, UnknownName
from phaser.suites.libero.protocol import PROTOCOLS, Protocol, changed, protocol_named
from phaser.suites.libero.suite import Libero
from phaser.suites.metaworld.suite import MetaWorld

UPRIGHT = np.arange(2 * 2 * 3, dtype=np.uint8).reshape(2, 2, 3)


def test_published_protocols_differ_where_their_authors_differ() -> None:
    openvla, starvla, lifelong = (
        PROTOCOLS[name] for name in ("openvla-oft", "starvla", "libero-lifelong")
    )
    assert (openvla.wait_steps, starvla.wait_steps, lifelong.wait_steps) == (10, 10, 5)
    assert (openvla.seed, starvla.seed) == (0, 7)
    assert openvla.step_limit("libero-goal") == starvla.step_limit("libero-goal") == 300
    assert openvla.step_limit("libero-10") == 520
    assert lifelong.step_limit("libero-10") == 600


def test_an_image_is_turned_as_the_protocol_says() -> None:
    protocol = PROTOCOLS["phaser"]
    opengl = changed(protocol, orientation="opengl").oriented(UPRIGHT)
    rotated = changed(protocol, orientation="rotated").oriented(UPRIGHT)
    assert np.array_equal(protocol.oriented(UPRIGHT), UPRIGHT)
    assert np.array_equal(opengl, UPRIGHT[::-1])
    assert np.array_equal(rotated, opengl[::-1, ::-1])


@pytest.mark.parametrize(("said", "told"), [(1.0, -1.0), (0.0, 1.0), (0.7, -1.0), (0.2, 1.0)])
def test_a_gripper_that_opens_at_one_reaches_the_simulator_as_minus_one(
    said: float, told: float
) -> None:
    action = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, said])
    command = PROTOCOLS["openvla-oft"].command(action)
    assert np.array_equal(command, [*action[:6], told])


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("gripper", [-1.0, 1.0])
def test_the_label_of_a_command_leads_back_to_it(name: str, gripper: float) -> None:
    command = np.array([0.1, -0.2, 0.3, 0.0, 0.5, -0.6, gripper])
    protocol = PROTOCOLS[name]
    assert np.array_equal(protocol.command(protocol.action(command)), command)


def test_a_changed_protocol_may_not_keep_a_published_name() -> None:
    quiet = changed(PROTOCOLS["openvla-oft"], wait_steps=0)
    assert quiet.name == "openvla-oft, changed"
    with pytest.raises(BadInput, match="differs from it; give it another name"):
        Libero(protocol=Protocol(name="openvla-oft", wait_steps=0))


@pytest.mark.parametrize(
    "fields",
    [
        {"orientation": "upside-down"},
        {"gripper": "plus-opens"},
        {"state": "euler"},
        {"cameras": ()},
        {"image_size": 8},
        {"control_hz": 0},
        {"wait_steps": -1},
    ],
)
def test_a_field_that_means_nothing_is_refused(fields: dict) -> None:
    with pytest.raises(BadInput):
        changed(PROTOCOLS["phaser"], **fields)


def test_an_action_of_another_size_is_refused() -> None:
    with pytest.raises(BadInput, match="7 numbers"):
        PROTOCOLS["phaser"].command(np.zeros(6))


def test_an_unknown_name_answers_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="openvla-oft"):
        protocol_named("openvla-otf")


def test_a_contract_is_what_a_file_gives_back_or_no_run_could_be_resumed() -> None:
    for suite in (Libero(), MetaWorld()):
        written = suite.contract.to_json()
        assert json.loads(json.dumps(written)) == written


def test_the_contract_of_a_policy_carries_the_whole_protocol() -> None:
    contract = Libero().contract
    assert contract.protocol["wait_steps"] == 10
    assert len(contract.state) == len(contract.state_centre) == len(contract.state_scale)
