"""Grids over any setting: names, files, cells that fail, and recordings of all streams."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_run import made_up_run
from made_up_worker import work

from phaser.cli import run as run_verb
from phaser.cli.grid_pages import groups
from phaser.cli.main import execute
from phaser.core.errors import BadInput
from phaser.core.locks import exclusive
from phaser.experiments import local_engine
from phaser.experiments.axes import Axes, Axis
from phaser.experiments.events import Failed
from phaser.experiments.grid import CellsFailed, Job, run_grid
from phaser.experiments.grid_file import Grid, grid_text, read_grid
from phaser.experiments.presets import preset
from phaser.experiments.run import run_from, settings_of
from phaser.experiments.traces import Traces
from phaser.experiments.unrecorded import unrecorded
from phaser.memory.budget import Budget

RATE = Axis(setting="fit.learning-rate", values=(1e-3, 2e-3))
WARMTH = Axis(setting="method.draw.temperature", values=(0.5, 1.0))


def test_cells_without_axes_keep_their_names_and_their_settings_files():
    base = preset("metaworld-10")
    (cell,) = Axes(methods=("phaser",), seeds=(3,)).cells(base)
    assert cell.name == "phaser-b20-default-s3"
    assert "label" not in settings_of(cell)


def test_every_combination_is_a_cell_with_a_name_and_a_value_of_its_own():
    axes = Axes(methods=("er", "phaser"), orders=("default", "reverse"), settings=(RATE, WARMTH))
    cells = axes.cells(preset("metaworld-10"))
    # er has no temperature, so it runs once per learning rate and order.
    assert len(cells) == len({cell.name for cell in cells}) == 2 * 2 * (1 + 2)
    found = {(c.method.name, c.suite.order, c.fit.learning_rate) for c in cells}
    assert len(found) == 2 * 2 * 2
    (last,) = [one for one in cells if one.name.endswith("reverse-s0-learning_rate=0.002")]
    assert (last.method.name, last.suite.order, last.fit.learning_rate) == ("er", "reverse", 2e-3)
    assert run_from(settings_of(last), source="here") == last


def test_streams_are_an_axis_apart_from_seeds():
    axes = Axes(methods=("er",), seeds=(0, 1), streams=(4, 5))
    cells = axes.cells(preset("metaworld-streams"))
    assert [(one.seed, one.suite.stream) for one in cells] == [(0, 4), (0, 5), (1, 4), (1, 5)]
    assert cells[0].suite.tasks() == cells[2].suite.tasks() != cells[1].suite.tasks()


@pytest.mark.parametrize("name", ["libero-goal-streams", "libero-long-streams"])
def test_every_seed_of_a_preset_of_streams_has_an_order_of_its_own(name):
    cells = Axes(methods=("er",), seeds=tuple(range(6))).cells(preset(name))
    assert len({cell.suite.tasks() for cell in cells}) == 6
    alone = [
        run_verb.start(name, run_verb._parser().parse_args(["--seed", str(k)])) for k in range(6)
    ]
    assert [run.suite for run in alone] == [cell.suite for cell in cells]
    assert not [line for run in alone for line in run_verb._whose_stream(run)]


def test_a_stream_that_is_not_the_seeds_own_is_said_aloud():
    run = preset("metaworld-streams").with_seed(3)
    pinned = replace(run, suite=replace(run.suite, stream=0))
    (line,) = run_verb._whose_stream(pinned)
    assert "not that of seed 3: --suite.stream names it" in line.replace("\n", " ")
    assert not list(run_verb._whose_stream(preset("metaworld-10").with_seed(3)))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ((Axis(setting="fit.learning_rat", values=(1,)),), "did you mean fit.learning_rate"),
        ((Axis(setting="fit.learning_rate", values=(-1.0,)),), "learning_rate"),
        ((Axis(setting="suite.order", values=("reverse",)),), "--orders"),
        ((RATE, RATE), "two axes for fit.learning_rate"),
    ],
)
def test_an_axis_that_makes_no_sense_is_one_line(settings, expected):
    with pytest.raises(BadInput, match=expected):
        Axes(methods=("er",), settings=settings).cells(preset("metaworld-10"))


def test_a_grid_comes_back_from_its_file_with_the_same_cells(tmp_path):
    base = replace(preset("metaworld-10"), fit=replace(preset("metaworld-10").fit, batch_size=8))
    budgets = (Budget.per_task(7), Budget.total_bytes(9000))
    axes = Axes(methods=("er", "phaser"), seeds=(0, 2), budgets=budgets, settings=(RATE, WARMTH))
    grid = Grid(base=base, axes=axes)
    (tmp_path / "grid.toml").write_text(grid_text(grid))
    assert read_grid(tmp_path / "grid.toml").cells() == grid.cells()
    (tmp_path / "short.toml").write_text('preset = "metaworld-10"\nbudgets = [5]\n')
    short = read_grid(tmp_path / "short.toml").cells()
    assert [one.name for one in short][1:] == ["er-b5-default-s0", "phaser-b5-default-s0"]
    (tmp_path / "wrong.toml").write_text('preset = "metaworld-10"\nseed = 3\n')
    with pytest.raises(BadInput, match="has 'seed'"):
        read_grid(tmp_path / "wrong.toml")


def test_pages_compare_cells_of_equal_settings_and_share_those_without():
    cells = Axes(methods=("er", "phaser"), settings=(WARMTH,)).cells(preset("metaworld-10"))
    out = Path("grid")
    found = groups(cells, [out / one.name for one in cells], out)
    assert list(found) == ["temperature=0.5", "temperature=1.0"]
    assert all(len(group) == 2 for group in found.values())
    assert groups(cells[:1], [out / cells[0].name], out) == {"": [out / cells[0].name]}


def test_recordings_of_all_streams_are_made_ahead_each_once(tmp_path):
    base = preset("metaworld-streams")
    base = replace(base, suite=replace(base.suite, cache=tmp_path))
    cells = Axes(methods=("er", "phaser"), seeds=(0, 1)).cells(base)
    ((run, tasks),) = unrecorded(cells)
    assert run == cells[0]
    names = [task.name for task in tasks]
    expected = {task.name for cell in cells for task in cell.suite.tasks()}
    assert len(names) == len(set(names)) == len(expected) > 10
    assert unrecorded(cells, learnt=expected) == []


def test_a_failing_cell_is_reported_and_the_others_finish(tmp_path):
    cells = [made_up_run(tmp_path / "cache", name) for name in ("er", "sequential")]
    told = []
    with (
        exclusive(tmp_path / cells[0].name / ".lock", what="run folder"),
        pytest.raises(CellsFailed, match=r"1 of 2 cells failed .*in use by process") as failed,
    ):
        run_grid(cells, tmp_path, lambda *event: told.append(event), num_workers=1)
    assert failed.value.finished == [tmp_path / cells[1].name]
    assert [name for name, event in told if isinstance(event, Failed)] == [cells[0].name]
    assert execute(["diff", *(str(tmp_path / cell.name) for cell in cells)]) == 2
    assert run_grid(cells, tmp_path, lambda *_: None, num_workers=1)[1:] == failed.value.finished


def test_a_worker_that_is_killed_loses_its_cell_only(tmp_path, monkeypatch):
    monkeypatch.setattr(local_engine, "_work", work)
    base = made_up_run(tmp_path)
    jobs = [
        Job(run=replace(base, seed=seed), folder=tmp_path / str(seed), traces=Traces())
        for seed in range(5)
    ]
    told = []
    failures = local_engine.LocalProcesses(num_workers=2)(jobs, lambda *event: told.append(event))
    assert {name[-2:]: one.message.split(" or ")[0] for name, one in failures.items()} == {
        "s1": "its process was killed",
        "s2": "no cup here",
    }
    assert sorted(name[-2:] for name, _ in told) == ["s0", "s1", "s2", "s3", "s4"]


def test_two_runs_are_told_apart_in_80_columns(tmp_path, capsys):
    one = made_up_run(tmp_path / "cache", "sequential")
    two = replace(one, fit=replace(one.fit, learning_rate=3e-4))
    run_grid([one], tmp_path / "one", lambda *_: None, num_workers=1)
    run_grid([two], tmp_path / "two", lambda *_: None, num_workers=1)
    places = [str(tmp_path / "one" / one.name), str(tmp_path / "two" / two.name)]
    capsys.readouterr()
    assert execute(["diff", *places]) == 0
    shown = capsys.readouterr().out
    assert "fit.learning_rate" in shown
    assert max(map(len, shown.splitlines()[2:])) <= 80
    assert execute(["diff", *places, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == {"fit.learning_rate": [one.fit.learning_rate, 3e-4]}
    assert any(name.endswith("held-out loss") for name in found["results"])
    assert execute(["diff", places[0], places[0]]) == 0
    assert "do not differ" in capsys.readouterr().out
