"""Meta-World learns from a folder of LeRobot datasets, and is tried as before."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from phaser.cli import main
from phaser.core.errors import BadInput
from phaser.core.suite import SPLITS
from phaser.demos.lerobot_layout import Shapes
from phaser.demos.lerobot_writer import Episode, write_dataset
from phaser.experiments.run import Run, run_from, settings_of
from phaser.suites.metaworld.suite import MetaWorld

SHAPES = Shapes(
    fps=80,
    robot_type="sawyer",
    state_names=("x", "y", "z", "gripper"),
    action_names=("dx", "dy", "dz", "gripper"),
    cameras={"corner": (48, 48), "gripper": (48, 48)},
)


def write_demos(root: Path, *, count: int = 5, told: str = "go there", shapes: Shapes = SHAPES):
    def episode(number: int) -> Episode:
        draw, length = np.random.default_rng(number), 30 + number
        return Episode(
            instruction=told if number else "go there",
            actions=draw.uniform(-1, 1, (length, len(shapes.action_names))).astype(np.float32),
            states=draw.uniform(-1, 1, (length, len(shapes.state_names))).astype(np.float32),
            images={
                name: np.full((length, *size, 3), number, np.uint8)
                for name, size in shapes.cameras.items()
            },
        )

    write_dataset(root, map(episode, range(count)), shapes=shapes, sidecar=None)


def suite_in(folder: Path, *tasks: str, cache: Path) -> MetaWorld:
    names = tasks or ("reach",)
    return MetaWorld(task_list=names, demonstrations=folder, heldout_share=0.4, cache=cache)


def test_the_last_episodes_of_a_tasks_dataset_are_held_out(tmp_path: Path) -> None:
    write_demos(tmp_path / "given" / "reach")
    suite = suite_in(tmp_path / "given", cache=tmp_path)
    task = suite.tasks()[0]
    demos = {split: suite.demos(task, split) for split in SPLITS}
    found = {split: [one.index for one in demos[split]] for split in SPLITS}
    assert found == {"train": [0, 1, 2], "heldout": [3, 4]}
    assert {one.task for one in demos["train"]} == {"reach"}
    assert demos["train"][2].cameras["corner"].read([0, 5]).shape == (2, 96, 96, 3)
    assert (demos["train"][2].cameras["corner"].read([0]) == 2).all()
    # A quarter more than the longest that is learnt from, which is not the longest of all.
    assert suite.horizon(task) == 32 + 20
    assert suite.images_sha256(task, "train") != suite.images_sha256(task, "heldout")


def test_the_contract_says_that_the_pixels_are_foreign_and_the_rest_is_as_before(
    tmp_path: Path,
) -> None:
    suite = suite_in(tmp_path / "given", cache=tmp_path)
    own = MetaWorld(task_list=("reach",), cache=tmp_path)
    given, recorded = suite.contract.to_json(), own.contract.to_json()
    assert "not compared" in given["protocol"]["demonstrations"]["frames"]
    assert {k: v for k, v in given.items() if k != "protocol"} == {
        k: v for k, v in recorded.items() if k != "protocol"
    }
    assert recorded["protocol"] == {}
    written = json.loads(json.dumps(settings_of(Run(suite=suite))))
    back = run_from(written, source="run.json").suite
    assert isinstance(back, MetaWorld)
    assert back.demonstrations == tmp_path / "given"


def test_a_task_without_a_dataset_is_missing_and_named(tmp_path: Path) -> None:
    write_demos(tmp_path / "given" / "reach")
    suite = suite_in(tmp_path / "given", "reach", "push", cache=tmp_path)
    assert [task.name for task in suite.missing()] == ["push"]
    with pytest.raises(BadInput, match="push is no LeRobot dataset"):
        suite.ensure_recorded(suite.missing()[0])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"state_names": ("x", "y")}, "states of 2 and actions of 4 numbers"),
        ({"cameras": {"corner": (48, 48)}}, "has no camera 'gripper'; it has corner"),
    ],
)
def test_a_dataset_that_shows_something_else_is_refused(
    tmp_path: Path, changes: dict[str, object], expected: str
) -> None:
    from dataclasses import replace

    write_demos(tmp_path / "given" / "reach", shapes=replace(SHAPES, **changes))  # type: ignore[arg-type]
    suite = suite_in(tmp_path / "given", cache=tmp_path)
    with pytest.raises(BadInput, match=expected):
        suite.demos(suite.tasks()[0], "train")


def test_a_dataset_of_two_tasks_is_refused(tmp_path: Path) -> None:
    write_demos(tmp_path / "given" / "reach", told="come back")
    suite = suite_in(tmp_path / "given", cache=tmp_path)
    with pytest.raises(BadInput, match="holds 2 instructions; expected one dataset per task"):
        suite.demos(suite.tasks()[0], "train")


@pytest.mark.slow
def test_a_run_learns_from_the_folder_and_is_tried_in_the_simulator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("reach", "push"):
        write_demos(tmp_path / "given" / name)
    flags = (
        f"--suite.task-list reach push --suite.demonstrations {tmp_path / 'given'} --budget 6 "
        "--workers 1 --simulators 1 --policy.width 16 --policy.channels 4 --fit.steps-per-task 4 "
        "--fit.batch-size 8 --evaluation.rollouts-per-task 1 --evaluation.learnt-rollouts 1"
    )
    out = tmp_path / "run"
    assert main.execute(shlex.split(f"run metaworld-10 {flags} --out {out} --json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["measure"] == "success"
    assert shown["methods"][0]["asr"]["trials"] == 2
    shutil.rmtree(out)
