"""`phaser run datasets` learns what users have, and goes on after a kill with the same bits."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from made_datasets import write_v2
from made_sources import write_hdf5

from phaser.cli import main
from phaser.report.runs import read_run

FLAGS = (
    "--suite.layout metaworld --budget 7 --workers 1 --policy.width 16 --policy.channels 4 "
    "--fit.steps-per-task 6 --fit.batch-size 8 --fit.checkpoint-every-steps 2"
)
TASKS = ["put_the_mug_on_the_plate", "pull-the-drawer-open", "push-the-drawer-shut"]
CLOCKS = {
    *("timing.json", "machine.json", "position.json"),
    *("report.html", "events.jsonl", ".lock"),
}
"""Files that tell the time, or quote one that does."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A LIBERO-style HDF5 file, a LeRobot folder, and the folder of a run over both."""
    root = tmp_path_factory.mktemp("datasets")
    write_hdf5(root / "mug.hdf5")
    write_v2(root / "drawer", [20, 22, 24, 21], version="v2.1", video=False)
    assert main.execute(words(root, root / "whole")) == 0
    return root


def words(root, out, **flags):
    sources = f"--suite.sources {root / 'mug.hdf5'} {root / 'drawer'}"
    more = " ".join(f"--{name} {value}" for name, value in flags.items())
    return shlex.split(f"run datasets {sources} {FLAGS} --out {out} {more}")


def killed(arguments, *, at, count=1):
    """Run a command in a process that is killed while it writes a file of that name."""
    script = Path(__file__).with_name("killed_command.py")
    paths = os.pathsep.join(path for path in sys.path if path)
    ended = subprocess.run(
        [sys.executable, str(script), at, str(count), *arguments],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == -9, ended.stderr


def bits(folder, *, but=()):
    """Every file of a run, whole, but for the clocks; of the memory the stored frames."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        if name.startswith("memory/tasks/"):
            found[re.sub(r"-[0-9a-f]{12}\.safetensors$", "", name)] = payload(path)
        elif not name.startswith("memory/") and name not in CLOCKS | set(but):
            found[name] = path.read_bytes()
    return found


def payload(path):
    """The tensors of a shard, without the header, which tells when it was written."""
    content = path.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little") :]


def losses(folder):
    return {
        (row["after_task"], row["task"], row["phase_index"]): row["loss"]
        for row in pq.read_table(folder / "losses.parquet").to_pylist()
    }


def test_a_file_and_a_folder_are_learnt_in_a_row(made):
    whole = made / "whole"
    about = json.loads((whole / "run.json").read_text())
    assert about["tasks"] == TASKS
    assert about["suite"] == "datasets"
    assert "found" not in about["command"]
    assert pq.read_table(whole / "episodes.parquet").num_rows == 0
    measured = {key[:2] for key in losses(whole)}
    assert measured == {(after, task) for j, after in enumerate(TASKS) for task in TASKS[: j + 1]}
    assert json.loads((whole / "budget.json").read_text())["frames_per_task"] == dict.fromkeys(
        TASKS, 7
    )
    steps = pq.read_table(whole / "steps" / f"01-{TASKS[1]}.parquet").to_pylist()
    assert {task for row in steps for task in row["sample_tasks"]} == set(TASKS[:2])


def test_the_command_in_its_folder_repeats_it(made, tmp_path):
    command = json.loads((made / "whole" / "run.json").read_text())["command"]
    again = [*shlex.split(command)[1:], "--out", str(tmp_path / "again"), "--workers", "1"]
    assert main.execute(again) == 0
    same = bits(tmp_path / "again")
    assert {name: same[name] for name in same if name.startswith("checkpoints")} == {
        name: one for name, one in bits(made / "whole").items() if name.startswith("checkpoints")
    }


@pytest.fixture(scope="module")
def interrupted(made):
    """The folder of a run that was killed while it learnt its second task."""
    killed(words(made, made / "killed"), at="unfinished", count=5)
    assert not (made / "killed" / "done.json").exists()
    return made / "killed"


@pytest.fixture
def resumed(interrupted, tmp_path, capsys):
    """Goes on with a copy of the killed run; returns its folder, its exit code and what it said."""

    def resume():
        folder = shutil.copytree(interrupted, tmp_path / "run")
        capsys.readouterr()
        code = main.execute(["run", "--resume", str(folder)])
        said = capsys.readouterr()
        return folder, code, said.out + said.err

    return resume


@contextmanager
def without(source):
    """The source is gone meanwhile."""
    away = source.rename(source.with_name("away"))
    try:
        yield
    finally:
        if source.exists():
            source.unlink()
        away.rename(source)


def test_a_killed_run_ends_with_the_same_bits(made, resumed):
    folder, code, _ = resumed()
    assert code == 0
    assert bits(folder) == bits(made / "whole")


@pytest.mark.parametrize(("at", "count"), [("losses.parquet", 2), ("memory/manifest.json", 2)])
def test_a_run_killed_between_tasks_ends_with_the_same_bits(made, tmp_path, at, count):
    killed(words(made, tmp_path / "run"), at=at, count=count)
    assert main.execute(["run", "--resume", str(tmp_path / "run")]) == 0
    assert bits(tmp_path / "run") == bits(made / "whole")


def test_a_killed_run_goes_on_without_the_sources_of_what_it_has_learnt(made, resumed):
    """The weights are the same; the held-out loss of the task whose source is gone is not known."""
    with without(made / "mug.hdf5"):
        folder, code, said = resumed()
    assert code == 0
    assert bits(folder, but=["losses.parquet"]) == bits(made / "whole", but=["losses.parquet"])
    expected = losses(made / "whole")
    measured = {key for key in expected if key[0] == TASKS[0] or key[1] != TASKS[0]}
    assert losses(folder) == {key: expected[key] for key in measured}
    assert f"gone by then: {TASKS[0]}. No mean counts them." in said
    by_task = {one.task: one for one in read_run(folder).task_losses}
    assert by_task[TASKS[0]].learnt is not None
    assert by_task[TASKS[0]].final is None
    assert "→ –" in (folder / "report.html").read_text()


def test_a_task_that_is_still_to_be_learnt_needs_its_source(made, resumed):
    with without(made / "drawer"):
        _, code, said = resumed()
    assert code == 2
    assert "drawer, the source of task 'pull-the-drawer-open', is gone; restore it" in said


def test_a_source_that_changed_is_refused_when_the_run_goes_on(made, resumed):
    with without(made / "mug.hdf5"):
        write_hdf5(made / "mug.hdf5", cameras=("front", "wrist"))
        _, code, said = resumed()
    assert code == 2
    assert "changed since the run began" in said


def test_a_grid_is_compared_by_held_out_loss(made, tmp_path, capsys):
    flags = f"--suite.sources {made / 'mug.hdf5'} {made / 'drawer'} {FLAGS} --json"
    grid = f"grid datasets --methods er phaser joint --seeds 0 1 {flags} --out {tmp_path / 'grid'}"
    assert main.execute(shlex.split(grid)) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["measure"] == "held-out loss"
    assert shown["unmeasured_tasks"] == []
    rows = {row["method"]: row for row in shown["methods"]}
    assert rows["phaser"]["differences"]["er"]["num_tasks"] == 3
    assert rows["phaser"]["differences"]["er"]["num_seeds"] == 2
    assert rows["joint"]["forgetting"] is None
    assert rows["er"]["forgetting"] is not None
    page = (tmp_path / "grid" / "report.html").read_text()
    assert "success was not measured" in page
    assert not re.search(r"\bnan\b|\binf\b", page, re.IGNORECASE)
