"""A budget in encoded bytes: as many frames as fit, known before training, certified afterwards."""

import json
import shutil
from dataclasses import replace

import pytest
from made_up_run import made_up_run

from phaser.core.errors import BadInput, BudgetMismatch, UnknownName
from phaser.core.files import read_json, write_json
from phaser.experiments.axes import Axes
from phaser.experiments.cell import run_cell
from phaser.experiments.events import Prepared, Preparing, RolledOut, Stepped
from phaser.experiments.finished import check_budgets, is_finished
from phaser.experiments.presets import preset
from phaser.experiments.run import Run, Storage, run_from, run_from_file, settings_of
from phaser.memory.budget import Budget
from phaser.memory.store import Store
from phaser.methods.table import METHODS
from phaser.report.page import write_report

BYTES = 12_000
IN_BYTES = Budget.bytes_per_task(BYTES)


class Interrupted(BaseException):
    """A process that ends here."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("byte-budget-cache")


@pytest.fixture(scope="module")
def cells(cache, tmp_path_factory):
    """Finished cells of two methods with the same budget in bytes."""
    out = tmp_path_factory.mktemp("byte-budgets")
    runs = [made_up_run(cache, name).with_budget(IN_BYTES) for name in ("er", "phaser")]
    for run in runs:
        run_cell(run, out / run.method_name)
    return {run.method_name: (run, out / run.method_name) for run in runs}


def held(folder, unit="bytes"):
    return read_json(folder / "budget.json")[f"{unit}_per_task"]


def first_task_frames(folder):
    store = Store.open(folder / "memory")
    return [bucket.frames for bucket in store.memory.buckets if bucket.phase.task == "reach"]


@pytest.mark.parametrize("name", ["er", "phaser"])
def test_every_task_holds_the_largest_number_of_frames_that_fits(cells, cache, tmp_path, name):
    _, folder = cells[name]
    assert set(held(folder)) == {"reach", "push", "hammer"}
    assert all(0 < size <= BYTES for size in held(folder).values())
    frames = held(folder, "frames")["reach"]
    for count, fits in ((frames, True), (frames + 1, False)):
        given = made_up_run(cache, name).with_budget(Budget.per_task(count))
        run_cell(given, tmp_path / str(count))
        assert (held(tmp_path / str(count))["reach"] <= BYTES) == fits
        assert (first_task_frames(tmp_path / str(count)) == first_task_frames(folder)) == fits


@pytest.mark.parametrize("in_bytes", [True, False])
def test_the_certificates_of_run_and_memory_agree(cells, cache, tmp_path, in_bytes):
    folder = cells["phaser"][1] if in_bytes else tmp_path
    if not in_bytes:
        run_cell(made_up_run(cache), folder)
    own, of_memory = read_json(folder / "budget.json"), Store.open(folder / "memory").certificate()
    assert own.items() <= of_memory.items()
    assert own["total_bytes"] == sum(row["bytes"] for row in own["frames_per_phase"]) > 0


def test_the_name_and_the_run_file_say_it_and_repeat_it(cells):
    run, folder = cells["phaser"]
    assert run.name == "phaser-b12000bytes-default-s0"
    about = read_json(folder / "run.json")
    given = {"amount": BYTES, "unit": "bytes", "per": "task", "floor": 1}
    assert (about["name"], about["budget"]) == (run.name, given)
    assert settings_of(run_from_file(folder / "run.json")) == settings_of(run)
    assert Store.open(folder / "memory").about["budget"] == given


def test_a_smaller_codec_holds_more_frames_in_the_same_bytes(cells, cache, tmp_path):
    raw = replace(made_up_run(cache), storage=Storage(codec="raw")).with_budget(
        Budget.bytes_per_task(200_000)
    )
    run_cell(raw, tmp_path)
    frames = held(tmp_path, "frames")["reach"]
    assert frames < held(cells["phaser"][1], "frames")["reach"]
    assert held(tmp_path)["reach"] > BYTES
    assert raw.name == "phaser-b200000bytes-raw-default-s0"


def test_a_budget_below_one_frame_per_phase_fails_before_anything_is_learnt(cache, tmp_path):
    told = []
    small = made_up_run(cache).with_budget(Budget.bytes_per_task(500))
    with pytest.raises(BadInput, match="task 'reach': a budget of 500 bytes, but the smallest"):
        run_cell(small, tmp_path, lambda event: told.append(type(event)))
    assert set(told) == {Preparing, Prepared}
    assert not (tmp_path / "run.json").exists()


def test_a_budget_that_a_task_cannot_fill_fails_before_anything_is_learnt(cache, tmp_path):
    told = []
    large = made_up_run(cache).with_budget(Budget.bytes_per_task(10**8))
    with pytest.raises(BadInput, match=r"task 'reach': .* candidates take fewer; lower the budget"):
        run_cell(large, tmp_path, lambda event: told.append(type(event)))
    assert set(told) == {Preparing, Prepared}


def test_every_task_is_tried_before_the_first_is_learnt(cache, tmp_path):
    told = []

    def notify(event):
        if isinstance(event, Stepped):
            raise Interrupted
        told.append(event)

    run = made_up_run(cache).with_budget(IN_BYTES)
    with pytest.raises(Interrupted):
        run_cell(run, tmp_path, notify)
    # Nothing else happened, and every task came once, in order.
    assert {type(event) for event in told} == {Preparing, Prepared}
    tried = dict.fromkeys(event.task for event in told if isinstance(event, Preparing))
    assert list(tried) == [task.name for task in run.suite.tasks()]


@pytest.mark.parametrize(("kind", "count"), [(Stepped, 2), (RolledOut, 2)])
def test_a_cell_that_was_cut_off_ends_with_the_same_bytes(cells, tmp_path, kind, count):
    run, whole = cells["phaser"]
    seen = []

    def notify(event):
        seen.append(type(event))
        if seen.count(kind) == count:
            raise Interrupted

    with pytest.raises(Interrupted):
        run_cell(run, tmp_path, notify)
    run_cell(run, tmp_path)
    names = [path.relative_to(whole) for path in whole.rglob("*.*")]
    same = [name for name in names if name.suffix in (".parquet", ".safetensors")]
    assert len(same) == 11
    for name in [*same, "routing.json", "budget.json"]:
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes(), name


def test_another_number_of_bytes_is_another_run(cells):
    run, folder = cells["phaser"]
    assert is_finished(run, folder)
    for other in (
        run.with_budget(Budget.bytes_per_task(BYTES + 1)),
        run.with_budget(Budget.per_task(8)),
    ):
        with pytest.raises(BadInput, match=r"other settings \(.*budget.amount: 12000"):
            is_finished(other, folder)


def test_a_run_folder_without_sizes_in_bytes_is_still_this_run_and_reported(cache, tmp_path):
    run = made_up_run(cache)
    run_cell(run, tmp_path)
    about = read_json(tmp_path / "run.json")
    del about["settings"]["storage"]
    budget = read_json(tmp_path / "budget.json")
    del budget["bytes_per_task"], budget["total_bytes"]
    for row in budget["frames_per_phase"]:
        del row["bytes"]
    write_json(tmp_path / "run.json", about)
    write_json(tmp_path / "budget.json", budget)
    assert is_finished(run, tmp_path)
    assert run_from_file(tmp_path / "run.json").storage == Storage()
    check_budgets([tmp_path])
    write_report([tmp_path], tmp_path / "report.html")
    assert "each hold 8 frames" in (tmp_path / "report.html").read_text()


def test_equal_bytes_are_compared_and_the_report_says_so(cells, tmp_path):
    folders = [folder for _, folder in cells.values()]
    check_budgets(folders)
    write_report(folders, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "er, phaser each hold as many frames as fit into 12,000 bytes per task" in page
    sizes = [size for folder in folders for size in held(folder).values()]
    assert f"The tasks of the 2 runs hold {min(sizes):,} to {max(sizes):,} bytes" in page
    assert max(sizes) <= BYTES


def test_a_cell_that_holds_more_bytes_than_it_was_given_is_refused(cells, tmp_path):
    _, folder = cells["er"]
    shutil.copytree(folder, tmp_path / "er")
    about = read_json(folder / "run.json")
    most = max(held(folder).values())
    for given in (most, most - 1):
        check_budgets([tmp_path / "er"])
        budget = {**about["budget"], "amount": given}
        write_json(tmp_path / "er" / "run.json", {**about, "budget": budget})
    with pytest.raises(BudgetMismatch, match=f"er holds {most} bytes, given {most - 1}"):
        check_budgets([tmp_path / "er"])


def test_a_grid_of_bytes_has_every_size_once_and_methods_without_memory_once():
    budgets = tuple(Budget.bytes_per_task(amount) for amount in (5_000, 9_000))
    axes = Axes(methods=("sequential", "phaser"), budgets=budgets)
    cells = axes.cells(preset("metaworld-10"))
    assert [cell.name for cell in cells] == [
        "sequential-b0-default-s0",
        "phaser-b5000bytes-default-s0",
        "phaser-b9000bytes-default-s0",
    ]
    in_frames = Axes(methods=("sequential",)).cells(preset("metaworld-10"))
    assert cells[0] == in_frames[0]


def test_a_run_has_one_budget_and_none_without_a_memory():
    run, seven = Run().with_budget(IN_BYTES), Budget.per_task(7)
    assert (run.budget, run.with_budget(seven).budget) == (IN_BYTES, seven)
    assert Run().with_budget(seven).with_budget(IN_BYTES) == run
    without = run.with_method(METHODS["sequential"])
    assert without.budget is None
    assert without.with_budget(seven) == without
    assert without.with_method(METHODS["phaser"]).budget == Budget()
    with pytest.raises(BadInput, match="phaser keeps frames and needs a budget"):
        replace(run, budget=None)


def test_settings_with_bytes_come_back_equal():
    run = replace(Run(), storage=Storage(codec="png")).with_budget(IN_BYTES)
    assert run_from(json.loads(json.dumps(settings_of(run))), source="run.json") == run


@pytest.mark.parametrize(
    ("storage", "error", "message"),
    [
        ({"codec": "jpeg:101"}, BadInput, "image quality 101"),
        ({"codec": "jpeg:most"}, BadInput, "expected a quality of 1 to 100"),
        ({"codec": "pgn"}, UnknownName, "did you mean png"),
        ({"rehearse_from": "disk"}, BadInput, "expected 'recordings' or 'memory'"),
    ],
)
def test_storage_that_makes_no_sense_is_refused(storage, error, message):
    with pytest.raises(error, match=message):
        Storage(**storage)
