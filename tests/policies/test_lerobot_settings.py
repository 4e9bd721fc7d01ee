"""Settings of LeRobot's policies, and what can be said of them where LeRobot is not installed."""

import importlib.util
from dataclasses import replace

import pytest

from phaser.core.contract import Statistics
from phaser.core.errors import BadInput, MissingDependency
from phaser.core.streams import Streams
from phaser.experiments.tables import POLICIES
from phaser.policies.lerobot.settings import LeRobot
from phaser.policies.lerobot.statistics import dataset_statistics
from phaser.testing.policy import MADE_UP


def test_the_policy_is_chosen_by_name_and_reads_pixels() -> None:
    assert POLICIES["lerobot"] is LeRobot
    assert LeRobot().front_end(MADE_UP) is None


@pytest.mark.skipif(
    importlib.util.find_spec("lerobot") is not None, reason="needs LeRobot to be absent"
)
def test_one_line_says_what_to_install() -> None:
    said = r"^LeRobot's policies need lerobot, .*run: pip install 'phaser-vla\[lerobot\]'$"
    with pytest.raises(MissingDependency, match=said):
        LeRobot().build(MADE_UP, Streams(0).named("weights"))


def test_options_are_fields_with_json_values_or_plain_words() -> None:
    settings = LeRobot(options=("dim_model=64", "use_vae=false", "vision_backbone=resnet34"))
    expected = {"dim_model": 64, "use_vae": False, "vision_backbone": "resnet34"}
    assert settings.overrides == expected


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("options", ("dim_model",), "expected field=value"),
        ("instruction", "spoken", "expected one of embedded, ignored"),
        ("losses", "mean", "expected one of native, one-by-one"),
        ("chunk_length", 0, "chunk_length"),
    ],
)
def test_mistakes_are_refused_before_lerobot_is_asked(field: str, value: object, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        replace(LeRobot(), **{field: value})


def test_a_number_that_never_changes_is_divided_by_one() -> None:
    still = Statistics(
        mean=(0.0, 5.0),
        std=(2.0, 0.0),
        min=(-1.0, 5.0),
        max=(1.0, 5.0),
        q01=(-1.0, 5.0),
        q99=(1.0, 5.0),
    )
    contract = replace(MADE_UP, action=("dx", "gripper"), action_statistics=still)
    found = dataset_statistics(contract)["action"]
    assert found["std"].tolist() == [2.0, 1.0]
    assert (found["max"] - found["min"]).tolist() == [2.0, 1.0]
    assert (found["q99"] - found["q01"]).tolist() == [2.0, 1.0]
