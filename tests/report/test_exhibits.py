"""Every table and figure of the paper from run folders; data that no run has yet is made up."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from written_runs import write_run_folder

from phaser.cli import main
from phaser.core.files import read_json, write_json
from phaser.memory.budget import Budget
from phaser.report.exhibits.correlations import partial, pearson, spearman
from phaser.report.exhibits.exhibit import Exhibit
from phaser.report.exhibits.losses import phase_lengths
from phaser.report.exhibits.writing import EXHIBITS, as_csv, as_latex, escaped
from phaser.report.runs import RunResult, read_run

DRAW = {"temperature": 0.25, "language_share": 0.5, "redundancy_penalty": 0.5}
TASKS = ("a", "b", "c")


def write(place: Path, name: str, method: str, **changes: Any) -> Path:
    """A run whose settings are those of real ones as far as exhibits read them."""
    told = {key: changes.pop(key) for key in ("draw", "keep", "order", "phases") if key in changes}
    folder = write_run_folder(place / name, method, 0, tasks=TASKS, **changes)
    about = read_json(folder / "run.json")
    about["settings"]["method"] = {
        "draw": {**DRAW, **told.get("draw", {})} if "phase" in method or method == "mine" else {},
        "keep": told.get("keep", {}),
        "segmenter": {"kind": "AutoPC"},
    }
    if "phases" in told:
        about["settings"]["phases"] = [{"task": task} for task in TASKS]
        about["command"] += f" --phases {told['phases']}"
    write_json(folder / "run.json", about | {"order": told.get("order", "default")})
    routing = read_json(folder / "routing.json")
    for step in routing:
        for phase in step["phases"]:
            phase["priority"] = 2 * phase["weight"] - 0.5
    write_json(folder / "routing.json", routing)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunResult]:
    """Runs that differ in all that the paper varies."""
    place = tmp_path_factory.mktemp("varied")
    wide = {"budget": Budget.per_task(42)}
    folders = [
        write(place, "sequential", "sequential"),
        write(place, "er", "er", final=(4, 5, 9)),
        write(place, "er-wide", "er", final=(6, 6, 9), **wide),
        write(place, "er-reverse", "er", order="reverse", final=(4, 4, 9)),
        write(place, "er-routed", "er-routed", final=(5, 5, 9)),
        write(place, "phaser", "phaser", final=(8, 6, 10)),
        write(place, "phaser-wide", "phaser", final=(9, 8, 10), **wide),
        write(place, "phaser-reverse", "phaser", order="reverse", final=(7, 7, 10)),
        write(place, "phaser-human", "phaser", phases="human.json", final=(9, 6, 10)),
        write(place, "phaser-hot", "phaser~aa01", draw={"temperature": 1.0}, final=(5, 6, 10)),
        write(place, "phaser-text", "phaser~bb02", draw={"language_share": 1.0}, final=(6, 6, 10)),
        write(place, "zero", "zero-budget", keep={"zero_phase": 0}, final=(1, 2, 9)),
    ]
    return [read_run(folder) for folder in folders]


def rows(exhibit: Exhibit | None) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    assert exhibit is not None
    return {row[:1]: row[1:] for row in exhibit.rows}


def test_every_exhibit_is_made_from_runs_that_vary_everything(runs: list[RunResult]) -> None:
    for name, make in EXHIBITS.items():
        exhibit = make(runs)
        assert exhibit is not None, name
        assert exhibit.name == name
        assert all(len(row) == len(exhibit.headings) for row in exhibit.rows), name
        table = list(csv.reader(as_csv(exhibit).splitlines()))
        assert len(table) == 1 + len(exhibit.rows)
        assert as_latex(exhibit).count(r"\\") == 1 + len(exhibit.rows)


def test_tables_of_success_have_the_runs_they_name(runs: list[RunResult]) -> None:
    orders = rows(EXHIBITS["task-orders"](runs))
    # Neither the larger budget, nor phases by hand, nor points of a sweep are mixed in.
    assert orders["er",][0] == pytest.approx(60.0)
    assert orders["phaser",][0] == pytest.approx(80.0)
    assert orders["er",][-1] == pytest.approx(100 * 17 / 30)
    assert orders["phaser − er",][-1] == pytest.approx(100 * 7 / 30)
    sources = rows(EXHIBITS["phase-sources"](runs))
    assert sources["human",] == (pytest.approx(100 * 25 / 30),)
    assert sources["Auto-PC",] == (pytest.approx(80.0),)
    for name, make in EXHIBITS.items():
        assert name == "sweeps" or "~" not in as_csv(make(runs)), name
    costs = rows(EXHIBITS["overhead"](runs))
    assert costs["er",][-2] == pytest.approx(60.0)
    single = rows(EXHIBITS["per-task"](runs))
    assert single["a",][-1] == pytest.approx(40.0)
    design = rows(EXHIBITS["ablation"](runs))
    assert design["er + routing",][0] == pytest.approx(100 * 19 / 30)


def test_budgets_and_settings_are_axes(runs: list[RunResult]) -> None:
    capacity = EXHIBITS["capacity"](runs)
    assert capacity is not None
    found = [row[:3] for row in capacity.rows if row[0] == "er"]
    assert found == [("er", 21, pytest.approx(60.0)), ("er", 42, pytest.approx(70.0))]
    swept = EXHIBITS["sweeps"](runs)
    assert swept is not None
    assert [row[:3] for row in swept.rows] == [
        ("α", 0.5, pytest.approx(80.0)),
        ("α", 1.0, pytest.approx(100 * 22 / 30)),
        ("τ", 0.25, pytest.approx(80.0)),
        ("τ", 1.0, pytest.approx(70.0)),
    ]


def test_the_emptied_phase_is_told_from_its_siblings(runs: list[RunResult]) -> None:
    zero = rows(EXHIBITS["zero-budget"](runs))
    own = [one for one in runs[-1].phases if one.phase_index == 0]
    assert zero["zero-budget",][0] == pytest.approx(40.0)
    assert zero["zero-budget",][1] == pytest.approx(sum(one.final_loss for one in own) / 3)
    assert rows(EXHIBITS["zero-budget-tasks"](runs))["a",][0] == "reach"


def test_amplification_grows_with_priority_where_weights_follow_it(runs: list[RunResult]) -> None:
    found = EXHIBITS["amplification"](runs)
    assert found is not None
    assert sum(row[1] for row in found.rows) == 9, "six phases before c, three before b"
    assert found.rows[0][2] < found.rows[-1][2]


def test_lengths_of_phases_are_worked_by_hand(runs: list[RunResult]) -> None:
    """Three tasks of shares .6, .1 and .3: σ² = .38/9, boost = (1/3) / .1."""
    found = phase_lengths(runs[:1])
    assert found is not None
    assert found.rows[0][2:] == pytest.approx(
        (3, 9, 1 / 3, 0.0422222**0.5, 3 * 0.0422222**0.5, 6.0, 6.0, 10 / 3), rel=1e-5
    )


def test_correlations_are_those_of_scipy() -> None:
    """Expected: pearsonr, spearmanr and pearsonr of linregress's residuals of SciPy 1.17."""
    first, second = [1.0, 2.0, 2.0, 4.0, 7.0, 3.0], [2.0, 1.0, 4.0, 3.0, 9.0, 2.0]
    linear, ranked = pearson(first, second), spearman(first, second)
    assert (linear.value, linear.p_value) == pytest.approx((0.8608691944, 0.0276894676))
    assert (ranked.value, ranked.p_value) == pytest.approx((0.5882352941, 0.2194178710))
    given = [1.0, 0.0, 2.0, 1.0, 3.0, 0.0]
    assert partial(first, second, given).value == pytest.approx(0.9315843516)
    assert pearson(first, [1.0] * 6).value is None


def test_names_of_tasks_are_no_commands_of_latex() -> None:
    assert escaped(r"50% \input{x}_$") == r"50\% \textbackslash{}input\{x\}\_\$"


def test_files_are_written_for_what_there_are_numbers_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'phaser-vla[figures]'")
    few = {name: EXHIBITS[name] for name in ("main-table", "retention", "routing-entropy")}
    few["capacity"] = EXHIBITS["capacity"]
    monkeypatch.setattr("phaser.report.exhibits.writing.EXHIBITS", few)
    for method in ("er", "phaser"):
        write(tmp_path / "runs", method, method)
    command = ["report", str(tmp_path / "runs"), "--export", str(tmp_path / "out"), "--json"]
    assert main.execute(command) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["without_numbers"] == ["capacity"]
    assert len(told["files"]) == 12
    starts = {"png": b"\x89PNG", "pdf": b"%PDF", "csv": b"method", "tex": b"\\begin{table}"}
    for suffix, start in starts.items():
        assert (tmp_path / "out" / f"main-table.{suffix}").read_bytes().startswith(start)
