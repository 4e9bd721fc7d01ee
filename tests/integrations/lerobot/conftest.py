"""Tests against the real LeRobot; skipped where it is not installed.

Nothing here reaches for a hub. Test files import LeRobot inside their tests, never at the top.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.append(str(HERE))

os.environ.setdefault("HF_HUB_OFFLINE", "1")
NEEDS = "needs LeRobot in an environment of its own: make test-lerobot"
IS_HERE = importlib.util.find_spec("lerobot") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE not in item.path.parents:
            continue
        # LeRobot and what it brings warn of many things that are not ours to mend.
        item.add_marker(pytest.mark.filterwarnings("default", "error:::phaser"))
        if not IS_HERE:
            item.add_marker(pytest.mark.skip(reason=NEEDS))


@pytest.fixture(scope="session")
def arms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of datasets, written once: left and right as video, left_png, right_png, stiff_png.

    Tests that change a dataset copy its folder first.
    """
    from arm_datasets import LEFT, RIGHT, STIFF, write_dataset

    folder = tmp_path_factory.mktemp("arms")
    wanted = {"left": LEFT, "right": RIGHT}
    found = {name: write_dataset(folder / name, arm, video=True) for name, arm in wanted.items()}
    pictures = wanted | {"stiff": STIFF}
    for name, arm in pictures.items():
        found[f"{name}_png"] = write_dataset(folder / f"{name}_png", arm, video=False)
    return found
