"""A real cell, as small as possible: all files, the report reads them, twice the same bytes."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

from phaser.core.errors import BadInput
from phaser.experiments.cell import run_cell
from phaser.experiments.events import Finished, Measured, Preparing, RolledOut
from phaser.experiments.folder import CellFolder
from phaser.experiments.grid import run_grid
from phaser.experiments.run import run_from_file, settings_of
from phaser.memory.store import Store
from phaser.report.page import write_report

TASKS = ["reach", "pick-place"]


@pytest.fixture(scope="module")
def cell(tiny_run, tmp_path_factory):
    """A finished cell of phaser, its run and what it told while running."""
    folder = tmp_path_factory.mktemp("cells") / "phaser"
    events = []
    run = tiny_run("phaser")
    run_cell(run, folder, events.append)
    return run, folder, events


def test_a_cell_writes_all_its_files_and_the_report_reads_them(cell, tmp_path):
    _, folder, _ = cell
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    stems = {f"checkpoints/{k:02d}-{task}" for k, task in enumerate(TASKS)}
    assert files == {
        *("run.json", "done.json", "timing.json", "budget.json", "routing.json", "position.json"),
        *("episodes.parquet", "losses.parquet", "events.jsonl", "machine.json"),
        *(f"{stem}.safetensors" for stem in stems),
        *(f"{stem}.json" for stem in stems),
        *(f"steps/{k:02d}-{task}.parquet" for k, task in enumerate(TASKS)),
        *(f"memory/{name}" for name in Store.open(folder / "memory").files()),
    }
    write_report([folder], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "pick-place" in page
    assert "phaser" in page


def test_every_rollout_is_a_row(cell):
    rows = pq.read_table(cell[1] / "episodes.parquet").to_pylist()
    assert [(row["after_task"], row["task"]) for row in rows] == [
        ("reach", "reach"),
        ("pick-place", "reach"),
        ("pick-place", "pick-place"),
    ]
    assert {row["env_seed"] for row in rows} == {5000}
    assert all(1 <= row["steps"] <= 200 for row in rows)


def test_the_losses_cover_every_phase_of_every_task_learnt(cell):
    rows = pq.read_table(cell[1] / "losses.parquet").to_pylist()
    for after, learnt in (("reach", TASKS[:1]), ("pick-place", TASKS)):
        for task in learnt:
            shares = [
                row["phase_share"]
                for row in rows
                if (row["after_task"], row["task"]) == (after, task)
            ]
            assert sum(shares) == pytest.approx(1)
    assert all(np.isfinite(row["loss"]) and row["loss"] > 0 for row in rows)


def test_the_budget_is_exact_and_the_routing_is_of_the_second_task(cell):
    budget = json.loads((cell[1] / "budget.json").read_text())
    assert budget["frames_per_task"] == dict.fromkeys(TASKS, 6)
    [transition] = json.loads((cell[1] / "routing.json").read_text())
    assert transition["task"] == "pick-place"
    assert {phase["task"] for phase in transition["phases"]} == {"reach"}
    assert sum(phase["weight"] for phase in transition["phases"]) == pytest.approx(1)


def test_a_checkpoint_carries_the_contract_it_was_trained_under(cell):
    run, folder, _ = cell
    [first, second] = sorted(folder.glob("checkpoints/*.safetensors"))
    contract = json.loads(first.with_suffix(".json").read_text())["contract"]
    assert contract["cameras"] == ["corner", "gripper"]
    assert contract["chunk_length"] == run.policy.chunk_length
    before, after = load_file(first), load_file(second)
    assert any(not np.array_equal(before[name], after[name]) for name in before)


def test_a_cell_tells_what_happens(cell):
    kinds = [type(event) for event in cell[2]]
    prepared = {event.task for event in cell[2] if isinstance(event, Preparing)}
    assert len(prepared) == kinds.count(Measured) == 2
    assert kinds.count(RolledOut) == 3
    assert kinds[-1] is Finished
    last = [event for event in cell[2] if isinstance(event, RolledOut)][-1]
    assert (last.episodes, last.planned, last.seconds_left) == (2, 2, 0.0)
    assert sum(last.shares.values()) == pytest.approx(1)
    assert min(last.shares.values()) > 0


def test_the_clock_during_rollouts_is_stored_beside_the_processor_s_time(cell):
    timing = json.loads((cell[1] / "timing.json").read_text())
    assert timing["rollouts"] == 3
    parts = ("physics", "rendering", "policy")
    assert sum(timing[f"rollout_{part}_s"] for part in parts) <= timing["rollout_clock_s"]
    named = [timing[name] for name in ("prepare_s", "keep_s", "rollout_s", "probe_s", "train_s")]
    assert sum(named) == pytest.approx(timing["total_cpu_s"])


def test_the_run_file_repeats_the_run(cell):
    run, folder, _ = cell
    assert settings_of(run_from_file(folder / "run.json")) == settings_of(run)


def test_a_second_run_gives_the_same_bytes_and_another_seed_does_not(cell, tiny_run, tmp_path):
    _, folder, _ = cell
    run_cell(tiny_run("phaser"), tmp_path / "again")
    run_cell(tiny_run("phaser", seed=1), tmp_path / "other")
    names = [path.relative_to(folder) for path in sorted(folder.glob("checkpoints/*.safetensors"))]
    names += [path.relative_to(folder) for path in sorted(folder.glob("steps/*"))]
    for name in ["episodes.parquet", "losses.parquet", "routing.json", "budget.json", *names]:
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name
    assert len(names) == 4
    for name in ["losses.parquet", *names]:
        assert (folder / name).read_bytes() != (tmp_path / "other" / name).read_bytes(), name


def test_a_folder_of_another_run_is_refused_and_left_as_it_is(cell, tiny_run):
    _, folder, _ = cell
    before = (folder / "run.json").read_bytes()
    with pytest.raises(BadInput, match="holds a run with other settings"):
        CellFolder(folder).start(tiny_run("er"))
    assert (folder / "run.json").read_bytes() == before


def test_a_grid_runs_joint_and_sequential_and_skips_what_is_finished(tiny_run, tmp_path):
    cells = [tiny_run("sequential"), tiny_run("joint")]
    told = []
    folders = run_grid(cells, tmp_path, lambda name, event: told.append(name), num_workers=1)
    assert set(told) == {cell.name for cell in cells}
    told.clear()
    assert run_grid(cells, tmp_path, lambda name, event: told.append(name)) == folders
    assert told == []
    rows = pq.read_table(folders[1] / "episodes.parquet").to_pylist()
    assert sorted(row["task"] for row in rows) == sorted(TASKS)
    summary = write_report(folders, tmp_path / "report.html")
    assert summary is not None
