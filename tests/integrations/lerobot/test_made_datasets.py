"""The datasets that all tests here are built on, as LeRobot gives them back."""

from pathlib import Path

import numpy as np
import pytest


@pytest.mark.parametrize("name", ["left", "left_png"])
def test_lerobot_reads_back_the_cube_and_the_joints_that_were_written(
    arms: dict[str, Path], name: str
) -> None:
    from arm_datasets import CAMERA, LEFT, NAMES, episode
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset = LeRobotDataset(f"made/{name}", root=arms[name])
    written = episode(LEFT, np.random.default_rng(LEFT.seed))
    assert dataset.num_episodes == LEFT.num_episodes
    assert dataset.meta.features["action"]["names"] == NAMES
    for place in (0, 20):
        sample = dataset[place]
        assert np.array_equal(sample["action"].numpy(), written[place]["action"])
        assert sample["task"] == LEFT.instruction
        seen = sample[CAMERA].numpy().transpose(1, 2, 0) * 255
        # Video loses a little, a png nothing.
        apart = np.abs(seen - written[place][CAMERA]).mean()
        assert apart < (6 if name == "left" else 0.01)
