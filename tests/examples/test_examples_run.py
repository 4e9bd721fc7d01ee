"""Every example runs as a newcomer runs it and prints what its page promises."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from phaser.core.demonstration import ActionLayout
from phaser.demos.lerobot_layout import Shapes, Sidecar
from phaser.demos.lerobot_writer import Episode, write_dataset

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))


@cache
def run(example: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "examples" / example, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONUTF8": "1",
            "OMP_NUM_THREADS": "1",
            "PHASER_CACHE": os.environ["PHASER_CACHE"],
        },
    )


@pytest.mark.parametrize("example", [path.name for path in EXAMPLES])
def test_an_example_runs_without_arguments_and_says_something(example: str) -> None:
    done = run(example)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    # Nothing but what `Replay` says of its own work; an example without it says nothing.
    source = (ROOT / "examples" / example).read_text()
    assert "Replay" in source or not done.stderr
    assert all(line.startswith("phaser: ") for line in done.stderr.splitlines())


def test_the_segment_example_finds_the_brief_grasp_in_every_demonstration() -> None:
    lines = run("01_segment.py").stdout.splitlines()
    cuts = [line for line in lines if line.startswith("  number")]
    assert len(cuts) == 5
    for index, line in enumerate(cuts):
        start = 40 + 2 * index
        assert f"grasp [{start}, {start + 8 + 2 * index})" in line


def test_the_segment_example_reads_a_recorded_dataset(tmp_path: Path) -> None:
    actions = np.concatenate([np.tile([0.5, 0, 0, -1], (30, 1)), np.tile([0, 0, 0.5, 1], (20, 1))])
    shapes = Shapes(
        fps=80,
        robot_type="sawyer",
        state_names=("x",),
        action_names=("dx", "dy", "dz", "gripper"),
        cameras={},
    )
    sidecar = Sidecar(
        layout=ActionLayout(motion=(0, 1, 2), gripper=(3,)),
        task_names={"lift the cup": "lift-cup"},
        recording={},
    )
    episode = Episode(
        instruction="lift the cup",
        actions=actions.astype(np.float32),
        states=np.zeros((50, 1), np.float32),
        images={},
    )
    write_dataset(tmp_path / "lift", [episode], shapes=shapes, sidecar=sidecar)
    done = run("01_segment.py", str(tmp_path / "lift"))
    assert done.returncode == 0, done.stderr
    assert "lift-cup" in done.stdout
    assert "approach [0, 30)  lift [30, 50)" in done.stdout


def test_the_segment_example_says_in_one_line_that_a_folder_is_no_dataset(tmp_path: Path) -> None:
    done = run("01_segment.py", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("01_segment: ")
    assert len(done.stderr.splitlines()) == 1


def test_examples_are_numbered_without_a_gap() -> None:
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


def test_the_rule_of_ones_own_keeps_the_grasp_that_random_frames_miss() -> None:
    passed, at_random, near_the_grip = run("02_rule_of_your_own.py").stdout.splitlines()
    assert passed == "NearTheGrip passes check_keep"
    shares = [int(re.findall(r"(\d+)%", line)[0]) for line in (at_random, near_the_grip)]
    assert shares[1] > shares[0] + 10


def test_the_plain_replay_example_shows_what_a_memory_is_for() -> None:
    lines = run("03_replay_plain_pytorch.py").stdout.splitlines()
    without, with_memory = ([float(one) for one in re.findall(r"0\.\d+", line)] for line in lines)
    assert sum(with_memory[:2]) < 0.6 * sum(without[:2])
    assert max(without[2], with_memory[2]) < 0.06


def test_the_hooks_example_trains_half_on_earlier_tasks() -> None:
    lines = run("05_replay_alphabrain_style.py").stdout.splitlines()
    assert lines[:2] == [
        "task 0: trained on {'left': 80}",
        "task 1: trained on {'right': 40, 'left': 40}",
    ]
    assert lines[-1] == "phaser replay in memory: 3 tasks stored"
