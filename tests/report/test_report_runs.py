"""A damaged run folder is named, with what is wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json, write_json
from phaser.report.runs import read_runs

WriteRun = Callable[..., Path]
FILES = (
    "run.json",
    "episodes.parquet",
    "losses.parquet",
    "routing.json",
    "budget.json",
    "timing.json",
    "done.json",
)


def test_runs_come_back_sorted_with_the_proposal_after_the_baselines(write_run: WriteRun) -> None:
    folders = [write_run(method, 0) for method in ("joint", "phaser", "mine", "er", "sequential")]
    methods = [run.method for run in read_runs(folders)]
    assert methods == ["sequential", "er", "phaser", "mine", "joint"]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(write_run: WriteRun, name: str) -> None:
    folder = write_run("er", 0)
    (folder / name).unlink()
    with pytest.raises(BrokenFile, match=name):
        read_runs([folder])


@pytest.mark.parametrize("name", FILES[:-1])
def test_a_file_full_of_noise_is_named(write_run: WriteRun, name: str) -> None:
    folder = write_run("er", 0)
    (folder / name).write_bytes(b"\x00\xffnoise" * 20)
    with pytest.raises(BrokenFile, match=name):
        read_runs([folder])


@pytest.mark.parametrize("name", FILES[:1] + FILES[3:-1])
@pytest.mark.parametrize("value", [3, [1], {"a": 1, "tasks": 2, "x": "y"}])
def test_json_of_the_wrong_shape_is_named(write_run: WriteRun, name: str, value: object) -> None:
    folder = write_run("er", 0)
    write_json(folder / name, value)
    with pytest.raises(BrokenFile, match=name):
        read_runs([folder])


def test_a_missing_diagonal_names_the_file_and_the_cell(write_run: WriteRun) -> None:
    folder = write_run("er", 0)
    path = folder / "episodes.parquet"
    table = pq.read_table(path)
    keep = [
        row["task_index"] != 0 or row["after_index"] != 0
        for row in table.select(["task_index", "after_index"]).to_pylist()
    ]
    pq.write_table(table.filter(keep), path)
    with pytest.raises(BrokenFile, match=r"episodes\.parquet: no episodes of 'drawer-open'"):
        read_runs([folder])


def test_a_certificate_whose_sums_disagree_is_refused(write_run: WriteRun) -> None:
    folder = write_run("er", 0)
    held = read_json(folder / "budget.json")
    held["frames_per_phase"][0]["frames"] += 1
    write_json(folder / "budget.json", held)
    with pytest.raises(BrokenFile, match="three equal sums"):
        read_runs([folder])


def test_bytes_of_a_certificate_that_do_not_add_up_are_refused(write_run: WriteRun) -> None:
    folder = write_run("er", 0)
    held = read_json(folder / "budget.json")
    held["frames_per_phase"][0]["bytes"] += 1
    write_json(folder / "budget.json", held)
    with pytest.raises(BrokenFile, match="84000 bytes by task, 84001 by phase"):
        read_runs([folder])


def test_weights_that_do_not_sum_to_one_are_refused(write_run: WriteRun) -> None:
    folder = write_run("phaser", 0)
    routing = read_json(folder / "routing.json")
    routing[0]["phases"][0]["weight"] += 0.5
    write_json(folder / "routing.json", routing)
    with pytest.raises(BrokenFile, match="expected 1"):
        read_runs([folder])


def test_the_same_cell_twice_is_refused(write_run: WriteRun, tmp_path: Path) -> None:
    folder = write_run("er", 0)
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    with pytest.raises(BadInput, match="both hold er with seed 0"):
        read_runs([folder, copy])


def test_runs_on_different_tasks_are_refused(write_run: WriteRun) -> None:
    with pytest.raises(BadInput, match="different tasks"):
        read_runs([write_run("er", 0), write_run("phaser", 0, tasks=("a", "b"))])


def test_no_folder_at_all_is_refused() -> None:
    with pytest.raises(BadInput, match="no run folders"):
        read_runs([])


def test_a_run_that_names_no_budget_is_not_taken_for_one_without_a_memory(
    write_run: WriteRun,
) -> None:
    folder = write_run("er", 0)
    about = read_json(folder / "run.json")
    write_json(folder / "run.json", {**about, "budget": None})
    with pytest.raises(BrokenFile, match="no budget, but the memory holds 84 frames"):
        read_runs([folder])
    del about["budget"]
    write_json(folder / "run.json", about)
    with pytest.raises(BrokenFile, match=r"run\.json names no budget; a run of an earlier phaser"):
        read_runs([folder])


@pytest.mark.parametrize(
    "wrong", [3, {"amount": 0}, {"amount": "many"}, {"frames": 20}, {"amount": 9, "per": "robot"}]
)
def test_a_budget_that_makes_no_sense_is_named_with_its_file(
    write_run: WriteRun, wrong: object
) -> None:
    folder = write_run("er", 0)
    write_json(folder / "run.json", {**read_json(folder / "run.json"), "budget": wrong})
    with pytest.raises(BrokenFile, match=r"run\.json"):
        read_runs([folder])
