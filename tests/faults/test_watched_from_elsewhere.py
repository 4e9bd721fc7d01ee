"""A run is followed by its files alone, and by trackers; its results keep their bits."""

import json
import shutil
import time

import pytest
from made_up_run import made_up_run

from phaser.cli.main import execute
from phaser.cli.watch import lines
from phaser.core.errors import BadInput, PhaserError
from phaser.experiments.axes import Axes
from phaser.experiments.cell import run_cell
from phaser.experiments.event_log import EventLog, read_events
from phaser.experiments.events import Failed, Finished, Measured, Stepped
from phaser.experiments.grid_file import Grid, write_grid
from phaser.experiments.presets import preset
from phaser.experiments.standing import Standing, standing
from phaser.experiments.traces import Traces, require_trackers

ENDED = ("episodes.parquet", "losses.parquet", "budget.json")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run that was tracked, and one that was not."""
    place = tmp_path_factory.mktemp("watched")
    run = made_up_run(place / "cache", "sequential")
    told = []
    run_cell(run, place / "plain" / run.name, told.append)
    run_cell(run, place / "tracked" / run.name, traces=Traces(trackers=("tensorboard",)))
    return place, run, told


def test_all_that_a_cell_tells_is_in_its_log(runs):
    place, run, told = runs
    logged, size = read_events(place / "plain" / run.name / "events.jsonl")
    kept = [one.event for one in logged]
    assert [type(one) for one in kept if not isinstance(one, Stepped)] == [
        type(one) for one in told if not isinstance(one, Stepped)
    ]
    assert [one.task for one in kept if isinstance(one, Measured)] == ["reach", "push", "hammer"]
    assert isinstance(kept[-1], Finished)
    assert read_events(place / "plain" / run.name / "events.jsonl", size) == ([], size)


def test_half_a_line_is_skipped_and_what_follows_is_read(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"time": 1, "event": "Fini')
    log = EventLog(path)
    log(Stepped(step=5, steps=5, loss=float("nan")))
    log(Failed(message="no cup"))
    logged, _ = read_events(path)
    assert [type(one.event) for one in logged] == [Stepped, Failed]
    assert all(json.loads(line) for line in path.read_text().splitlines()[1:])


def test_trackers_are_told_losses_and_success_and_change_no_bit(runs):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    place, run, _ = runs
    plain, tracked = place / "plain" / run.name, place / "tracked" / run.name
    for name in (*ENDED, *(f"checkpoints/{one.name}" for one in plain.glob("checkpoints/*.s*"))):
        assert (tracked / name).read_bytes() == (plain / name).read_bytes()
    files = list(tracked.rglob("events.out.tfevents.*"))
    tags = set()
    for path in files:
        found = EventAccumulator(str(path)).Reload()
        here = set(found.Tags()["scalars"])
        tags |= here
        if "success/mean" in here:
            assert [one.step for one in found.Scalars("success/mean")] == [6, 12, 18]
    assert {"loss", "success/mean", "success/reach", "heldout_loss/push"} <= tags


def test_an_unknown_tracker_is_one_line():
    with pytest.raises(BadInput, match="did you mean tensorboard"):
        Traces(trackers=("tensorbord",))


def test_a_cell_that_fails_says_so_in_its_log(runs, tmp_path):
    place, run, _ = runs

    def stop(event):
        if isinstance(event, Measured):
            raise PhaserError("the cup is gone")

    with pytest.raises(PhaserError):
        run_cell(run, tmp_path / "run", stop)
    found = standing(tmp_path / "run")
    assert (found.state, found.message, found.tasks_learnt) == ("failed", "the cup is gone", 1)
    later = standing(place / "plain" / run.name, now_s=time.time() + 1e6)
    assert (later.state, later.tasks_learnt, later.doing) == ("finished", 3, "")


def test_a_grid_is_followed_in_80_columns(runs, tmp_path, capsys):
    place, run, _ = runs
    base = preset("metaworld-10")
    write_grid(Grid(base=base, axes=Axes(methods=("er", "phaser"))), tmp_path / "grid.toml")
    shutil.copytree(place / "plain" / run.name, tmp_path / run.name)
    half = tmp_path / f"{run.name}-half"
    shutil.copytree(place / "plain" / run.name, half)
    (half / "done.json").unlink()
    kept = (half / "events.jsonl").read_text().splitlines()
    first = next(k for k, line in enumerate(kept) if '"Measured"' in line)
    (half / "events.jsonl").write_text("\n".join(kept[: first + 2]) + "\n")
    assert execute(["watch", str(tmp_path), "--once"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 80
    assert shown[-1] == "4 cells: 1 running, 1 finished, 2 not begun"
    assert shown[1].split()[1:3] == ["running", "1/3"]
    assert execute(["watch", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [cell["state"] for cell in found["cells"]] == ["finished", "running"]
    assert execute(["watch", str(tmp_path / "nowhere")]) == 2


def test_a_large_grid_fits_a_small_terminal_and_says_what_is_hidden():
    cells = [
        Standing(
            name=f"er-b20-default-s{seed}",
            state="finished" if seed % 2 else "running",
            tasks_learnt=1,
            num_tasks=3,
            task="push",
            doing="step 10/80",
            loss=0.5,
            solved=0,
            tried=0,
            quiet_s=1.0,
        )
        for seed in range(60)
    ]
    shown = lines(cells, 4, rows=18)
    assert len(shown) <= 22
    assert shown[-3:] == ["and 42 more, further than these", "", shown[-1]]
    assert "64 cells: 30 running, 30 finished, 4 not begun" in shown[-1]
    assert sum("running" in line for line in shown[:-1]) == 18


def test_mlflow_without_a_place_to_write_is_one_line(monkeypatch):
    found = {"mlflow": object(), "sqlalchemy": None}
    monkeypatch.setattr("importlib.util.find_spec", found.__getitem__)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(PhaserError, match="pip install mlflow, or set MLFLOW_TRACKING_URI"):
        require_trackers(("mlflow",))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://localhost:5000")
    require_trackers(("mlflow",))
