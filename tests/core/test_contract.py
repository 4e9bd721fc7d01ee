"""The observation contract: one value, refused where it contradicts itself, plain as JSON."""

import json
from dataclasses import replace

import pytest

from phaser.core.contract import Contract, Statistics
from phaser.core.demonstration import ActionLayout
from phaser.core.errors import BadInput
from phaser.suites.libero.suite import Libero
from phaser.suites.metaworld.suite import MetaWorld

CONTRACT = Contract(
    suite="made-up",
    cameras=("front", "wrist"),
    image_size=(48, 64),
    state=("x", "y"),
    state_centre=(0.0, 1.0),
    state_scale=(1.0, 2.0),
    action=("dx", "dy", "gripper"),
    layout=ActionLayout(motion=(0, 1), gripper=(2,)),
)
ONES = Statistics(mean=(1.0,), std=(1.0,), min=(1.0,), max=(1.0,), q01=(1.0,), q99=(1.0,))


@pytest.mark.parametrize("contract", [CONTRACT, MetaWorld().contract, Libero().contract])
def test_a_contract_is_the_same_when_it_comes_back_from_a_file(contract):
    written = contract.to_json()
    assert json.loads(json.dumps(written)) == written
    assert written["motion"] == list(contract.layout.motion)
    assert written["gripper"] == list(contract.layout.gripper)


def test_contracts_that_differ_anywhere_differ_as_json():
    changes = [
        {"orientation": "rotated"},
        {"cameras": ("wrist", "front")},
        {"layout": ActionLayout(motion=(0,), gripper=(2,))},
        {"action_statistics": ONES},
        {"protocol": {"wait_steps": 10}},
    ]
    written = [replace(CONTRACT, **change).to_json() for change in ({}, *changes)]
    assert all(one != other for k, one in enumerate(written) for other in written[:k])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"state": ("x",)}, "1 state names, 2 centres and 2 scales"),
        ({"state_scale": (1.0,)}, "expected as many of each"),
        ({"state_scale": (1.0, 0.0)}, "expected numbers above 0"),
    ],
)
def test_a_contract_that_contradicts_itself_is_refused(wrong, message):
    with pytest.raises(BadInput, match=message):
        replace(CONTRACT, **wrong)


def test_statistics_of_different_lengths_are_refused():
    with pytest.raises(BadInput, match="expected one length"):
        replace(ONES, mean=(1.0, 2.0))
