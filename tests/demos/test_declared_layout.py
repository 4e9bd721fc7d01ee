"""What LeRobot datasets say of their actions by the names of robots and joints."""

import json
from pathlib import Path

import numpy as np
import pytest

from phaser.core.demonstration import ActionLayout, Demo
from phaser.core.errors import BadInput
from phaser.demos.declared_layout import declared_layout, in_words, layout_in_info
from phaser.demos.layouts import LAYOUTS
from phaser.demos.lerobot_layout import Sidecar, read_sidecar
from phaser.phases.autopc import AutoPC
from phaser.phases.signals import SignalRules, closing

SO100 = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"]
ARMS = [f"{side}_{joint}.pos" for side in ("left", "right") for joint in SO100]
WAISTS = [f"{side}_{k}" for side in ("left", "right") for k in range(7)]


@pytest.mark.parametrize(
    ("robot", "names", "motion", "gripper"),
    [
        ("so101_follower", [f"{one}.pos" for one in SO100], range(5), (5,)),
        ("somebody's arm", [f"{one}.pos" for one in SO100], range(5), (5,)),
        ("bi_so100_follower", ARMS, (*range(5), *range(6, 11)), (5, 11)),
        ("koch", [f"main_{one}" for one in SO100], range(5), (5,)),
        ("aloha", WAISTS, (*range(6), *range(7, 13)), (6, 13)),
    ],
)
def test_names_of_robots_and_joints_tell_the_layout(
    robot: str, names: list[str], motion: range | tuple[int, ...], gripper: tuple[int, ...]
) -> None:
    layout = declared_layout(robot, names)
    assert layout == ActionLayout(
        motion=tuple(motion), gripper=gripper, convention="absolute", gripper_closes="falling"
    )
    info = {"robot_type": robot, "features": {"action": {"names": {"motors": names}}}}
    assert layout_in_info(info, "action") == layout
    assert in_words(layout).endswith("(a falling number closes it), targets")


def test_names_that_say_too_little_tell_nothing() -> None:
    assert declared_layout("panda", ["x", "y", "z", "gripper"]) is None
    assert declared_layout("so100", ["only", "four", "numbers", "here"]) is None
    assert declared_layout("so100", ["gripper.pos"]) is None
    assert layout_in_info({"features": {"action": {"names": None}}}, "action") is None
    assert layout_in_info({}, "action") is None


def test_a_falling_gripper_is_written_beside_the_dataset_and_a_rising_one_as_before(
    tmp_path: Path,
) -> None:
    (tmp_path / "meta").mkdir()
    for layout in (LAYOUTS["so100"].layout, LAYOUTS["libero"].layout):
        written = Sidecar(layout=layout).to_json()
        assert ("gripper_closes" in written["action_layout"]) == (layout.gripper == (5,))
        (tmp_path / "meta" / "phaser.json").write_text(json.dumps(written))
        found = read_sidecar(tmp_path)
        assert found is not None
        assert found.layout == layout
    with pytest.raises(BadInput, match="gripper_closes 'up'; expected 'rising' or 'falling'"):
        ActionLayout(motion=(0,), gripper=(1,), gripper_closes="up")


def test_closing_is_positive_whoever_says_which_way_it_goes() -> None:
    targets = np.zeros((40, 6))
    targets[:, 0] = np.sin(np.arange(40) / 6)
    targets[:20, 5], targets[20:, 5] = 60.0, 5.0

    def demo(way: str) -> Demo:
        layout = ActionLayout(
            motion=(0, 1, 2, 3, 4), gripper=(5,), convention="absolute", gripper_closes=way
        )
        return Demo(task="t", index=0, actions=targets, states=targets, layout=layout)

    assert closing(demo("falling"), SignalRules())[20] == 1
    assert closing(demo("falling"), SignalRules(closing_sign=-1))[20] == 1
    assert closing(demo("rising"), SignalRules(closing_sign=-1))[20] == 1
    assert closing(demo("rising"), SignalRules())[20] == -1
    labels = {way: AutoPC().segment([demo(way)])[0].labels for way in ("falling", "rising")}
    assert "grasp" in " ".join(labels["falling"])
    assert "grasp" not in " ".join(labels["rising"])
