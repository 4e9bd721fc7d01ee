"""Names, instructions, orders and seeds of the Meta-World suite, without a simulator."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput, UnknownName
from phaser.suites.metaworld.recording import MetaWorldRecording
from phaser.suites.metaworld.seeds import SEEDS, seeds
from phaser.suites.metaworld.suite import MetaWorld
from phaser.suites.metaworld.tasks import INSTRUCTIONS, LISTS, task_names
from phaser.suites.orders import in_order


def test_seeds_of_training_heldout_and_evaluation_never_overlap() -> None:
    for one, other in itertools.combinations(SEEDS.values(), 2):
        assert not set(one) & set(other)
    assert list(seeds("evaluation", 3)) == [5000, 5001, 5002]
    with pytest.raises(UnknownName, match="evaluation"):
        seeds("evaluaton", 1)
    with pytest.raises(BadInput, match="1 to 2000"):
        seeds("train", 2001)


def test_every_task_has_its_own_short_instruction() -> None:
    assert len(INSTRUCTIONS) == 50
    assert len(set(INSTRUCTIONS.values())) == 50
    assert all(2 <= len(text.split()) <= 10 for text in INSTRUCTIONS.values())


def test_named_lists_hold_known_tasks_once() -> None:
    for names in LISTS.values():
        assert len(set(names)) == len(names)
        assert set(names) <= set(INSTRUCTIONS)
    assert LISTS["metaworld-cw10"][0] == "hammer"
    assert LISTS["metaworld-cw10"][-1] == "peg-unplug-side"
    streams = LISTS["metaworld-learnable"]
    assert {len(names) for names in LISTS.values() if names is not streams} == {10}
    assert len(streams) >= 30, "ten of them at random should differ from stream to stream"
    confirming = set(LISTS["metaworld-alt"]) | set(LISTS["metaworld-confirm"])
    assert len(confirming | set(LISTS["metaworld-10"])) == 30


def test_unknown_tasks_lists_and_orders_name_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean drawer-open"):
        MetaWorld(task_list=("drawer-opn",), cache=tmp_path)
    with pytest.raises(UnknownName, match="metaworld-10"):
        MetaWorld(task_list="metaworld-11", cache=tmp_path)
    with pytest.raises(UnknownName, match="did you mean reverse"):
        MetaWorld(order="reversed", cache=tmp_path)
    with pytest.raises(BadInput, match="each only once"):
        task_names(("hammer", "hammer"))
    suite = MetaWorld(cache=tmp_path)
    with pytest.raises(UnknownName, match="train"):
        suite.demos(suite.tasks()[0], "test")


@given(st.integers(0, 999_999_999))
def test_a_shuffled_order_is_a_permutation_that_its_seed_decides(seed: int) -> None:
    names = LISTS["metaworld-10"]
    shuffled = in_order(names, f"shuffled({seed})")
    assert sorted(shuffled) == sorted(names)
    assert shuffled == in_order(names, f"shuffled({seed})")


def test_orders_differ() -> None:
    names = LISTS["metaworld-10"]
    assert in_order(names, "default") == names
    assert in_order(names, "reverse") == names[::-1]
    assert len({in_order(names, f"shuffled({seed})") for seed in range(5)}) == 5
    suite = MetaWorld(order="reverse")
    assert [task.name for task in suite.tasks()] == list(names[::-1])


@pytest.mark.parametrize("changes", [{"num_train": 0}, {"noise": -0.1}, {"max_steps": 0}])
def test_impossible_recordings_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="expected"):
        MetaWorldRecording(**changes)


def test_naming_a_suite_imports_no_simulator() -> None:
    code = (
        "import sys; from phaser.suites.metaworld.suite import MetaWorld; MetaWorld().tasks(); "
        "sys.exit(bool({'mujoco', 'metaworld', 'gymnasium', 'torch'} & set(sys.modules)))"
    )
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(source)}, check=False
    )
    assert done.returncode == 0
