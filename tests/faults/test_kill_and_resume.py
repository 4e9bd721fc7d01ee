"""A run that is killed anywhere, any number of times, ends with the bits of one that was not."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from phaser.core.files import STAGES
from phaser.evaluation.matrix import SuccessMatrix

WHAT_IS_WRITTEN = {
    *("run.json", "routing.json", "episodes.parquet", "losses.parquet", "budget.json"),
    *("timing.json", "machine.json", "done.json", "position.json", "steps/TASK.parquet"),
    *("checkpoints/TASK.safetensors", "checkpoints/TASK.json"),
    "checkpoints/unfinished.safetensors",
    *("memory/manifest.json", "memory/tasks/TASK.safetensors"),
}
CLOCKS = {
    "timing.json": None,
    "machine.json": None,
    "events.jsonl": None,
    "position.json": ("seconds", "sha256"),
    "memory/manifest.json": ("added", "checksum"),
}
"""What tells the time, and so differs between any two runs: a file, or fields in it, with the
file's checksum over them."""


class Nursery:
    """One warm process that forks the runs to be killed: torch is imported once, not a hundred
    times."""

    def __init__(self, cache):
        cache.mkdir()
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("made_up_run.py")), str(cache)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )

    def run(self, folder, fault="none", **order):
        order = {"folder": str(folder), "fault": fault, **order}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        ended = json.loads(self._process.stdout.readline())
        assert ended["exit"] in (0, -9), "the run crashed"
        return ended

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=300)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def nursery(tmp_path_factory):
    made = Nursery(tmp_path_factory.mktemp("nursery") / "cache")
    yield made
    made.close()


@pytest.fixture(scope="module")
def undisturbed(nursery, tmp_path_factory):
    """The folder of a run that nobody disturbed, and what was written into it."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    return folder, nursery.run(folder)


def bits(folder):
    """Every file of a run, whole, but for the clocks."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        found[name] = path.read_bytes()
        if name in CLOCKS:
            hidden = CLOCKS[name]
            found[name] = without(json.loads(found[name]), hidden) if hidden else "a clock"
    return found


def without(value, hidden):
    """JSON without the fields of these names."""
    if isinstance(value, list):
        return [without(one, hidden) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: without(one, hidden) for name, one in value.items() if name not in hidden}


def matrix(folder):
    about = json.loads((folder / "run.json").read_text())
    episodes = pq.read_table(folder / "episodes.parquet")
    return SuccessMatrix.from_episodes(episodes, tasks=about["tasks"])


def require_same(folder, undisturbed):
    expected, found = bits(undisturbed), bits(folder)
    assert sorted(found) == sorted(expected)
    assert [name for name in expected if found[name] != expected[name]] == []
    assert matrix(folder) == matrix(undisturbed)


def finished(nursery, folder, **order):
    ended = nursery.run(folder, **order)
    assert ended["exit"] == 0
    assert ended["error"] is None
    assert (folder / "done.json").exists()


def test_the_undisturbed_run_passes_every_point_and_is_worth_comparing(undisturbed):
    folder, ended = undisturbed
    assert {tuple(point) for point in ended["points"]} == {
        (name, stage) for name in WHAT_IS_WRITTEN for stage in STAGES
    }
    assert not list(folder.rglob("*unfinished*"))
    rows = pq.read_table(folder / "episodes.parquet").to_pylist()
    assert {row["success"] for row in rows} == {True, False}
    steps = pq.read_table(folder / "steps" / "01-push.parquet").to_pylist()
    assert [row["step"] for row in steps] == list(range(6))
    assert {task for row in steps for task in row["sample_tasks"]} == {"reach", "push"}


@pytest.mark.slow
def test_a_run_killed_inside_every_stage_of_every_write_ends_with_the_same_bits(
    nursery, undisturbed, tmp_path
):
    everywhere = {(name, stage) for name in WHAT_IS_WRITTEN for stage in STAGES}
    passed = set()
    for _ in range(len(everywhere) + 1):
        ended = nursery.run(tmp_path / "run", "kill at a new point", passed=sorted(passed))
        if ended["exit"] == 0:
            break
        passed.add(tuple(ended["points"][-1]))
    assert passed == everywhere
    require_same(tmp_path / "run", undisturbed[0])


@pytest.mark.slow
def test_a_run_killed_at_twenty_random_moments_ends_with_the_same_bits(
    nursery, undisturbed, tmp_path, fault_seed
):
    rng = random.Random(fault_seed)
    num_kills, folders = 0, 0
    while num_kills < 20:
        folder = tmp_path / f"run-{folders}"
        folders += 1
        for _ in range(20):
            after_s = rng.uniform(0, 0.8) * undisturbed[1]["seconds"]
            ended = nursery.run(folder, kill_after_s=after_s)
            num_kills += ended["exit"] == -9
            if ended["exit"] == 0:
                break
        else:
            finished(nursery, folder)
        require_same(folder, undisturbed[0])


def test_writes_late_in_a_run_may_be_killed_too(nursery, undisturbed, tmp_path, fault_seed):
    rng = random.Random(fault_seed)
    for _ in range(6):
        nursery.run(tmp_path / "run", f"kill {rng.randrange(30, 90)}")
    finished(nursery, tmp_path / "run")
    require_same(tmp_path / "run", undisturbed[0])


def test_a_joint_run_and_one_without_memory_go_on_as_well(nursery, tmp_path, fault_seed):
    rng = random.Random(fault_seed)
    for method in ("joint", "sequential"):
        finished(nursery, tmp_path / method, method=method)
        killed = tmp_path / f"{method}-killed"
        for _ in range(4):
            nursery.run(killed, f"kill {rng.randrange(8, 40)}", method=method)
        finished(nursery, killed, method=method)
        assert not (killed / "memory").exists()
        require_same(killed, tmp_path / method)


@pytest.mark.slow
def test_what_a_task_leaves_for_a_penalty_may_be_killed_while_it_is_written(nursery, tmp_path):
    finished(nursery, tmp_path / "whole", method="der")
    passed = {(name, stage) for name in WHAT_IS_WRITTEN for stage in STAGES}
    for stage in STAGES:
        order = {"passed": sorted(passed), "method": "der"}
        ended = nursery.run(tmp_path / "killed", "kill at a new point", **order)
        assert ended["points"][-1] == ["penalty/TASK.safetensors", stage]
        passed.add(tuple(ended["points"][-1]))
    finished(nursery, tmp_path / "killed", method="der")
    require_same(tmp_path / "killed", tmp_path / "whole")


def test_a_full_disk_is_one_line_and_the_run_goes_on_once_there_is_space(
    nursery, undisturbed, tmp_path, fault_seed
):
    rng = random.Random(fault_seed)
    for _ in range(6):
        ended = nursery.run(tmp_path / "run", f"full {rng.randrange(1, 60)}")
        if not ended["error"]:
            break  # it came to its end before the disk was full
        assert "cannot write" in ended["error"]
        assert "No space left on device" in ended["error"]
        assert "\n" not in ended["error"]
        assert not list((tmp_path / "run").rglob("*.tmp"))
    finished(nursery, tmp_path / "run")
    require_same(tmp_path / "run", undisturbed[0])


def test_a_folder_that_became_read_only_is_one_line_and_keeps_the_last_good_state(
    nursery, undisturbed, tmp_path
):
    nursery.run(tmp_path / "run", "kill 60")
    before = bits(tmp_path / "run")
    ended = nursery.run(tmp_path / "run", "read-only")
    assert "Read-only file system" in ended["error"]
    assert "\n" not in ended["error"]
    after = bits(tmp_path / "run")
    assert after == {name: before[name] for name in after}
    assert "position.json" in after
    finished(nursery, tmp_path / "run")
    require_same(tmp_path / "run", undisturbed[0])
