"""A run goes on from its memory alone when the recordings of earlier tasks are deleted."""

import shutil
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from phaser.experiments.cell import run_cell
from phaser.experiments.events import Measured, Preparing
from phaser.experiments.run import Storage


class Interrupted(BaseException):
    """A process that ends here."""


def own_cache(run, folder):
    """The same run with recordings that may be deleted."""
    shutil.copytree(run.suite.cache, folder)
    return replace(run, suite=replace(run.suite, cache=folder))


def delete(run, name):
    """Everything that the cache holds of a task."""
    gone = [path for path in run.suite.cache.rglob("*") if path.name.startswith(name)]
    for path in gone:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    assert name in [task.name for task in run.suite.missing()]


def same(one, other):
    weights = sorted(path.name for path in (one / "checkpoints").glob("*.safetensors"))
    assert len(weights) == 2
    names = ["episodes.parquet", "routing.json", "budget.json"]
    for name in [*names, *(f"checkpoints/{weight}" for weight in weights)]:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.fixture(scope="module")
def whole(tiny_run, tmp_path_factory):
    """A run whose recordings stay."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    run_cell(tiny_run("phaser"), folder)
    return folder


def test_recordings_deleted_after_each_task_leave_the_episodes_as_they_are(
    tiny_run, whole, tmp_path
):
    run = own_cache(tiny_run("phaser"), tmp_path / "cache")

    def notify(event):
        if isinstance(event, Measured):
            delete(run, event.task)

    run_cell(run, tmp_path / "run", notify)
    same(tmp_path / "run", whole)


@pytest.mark.parametrize("rehearse_from", ["recordings", "memory"])
def test_a_new_process_without_the_earlier_recordings_ends_with_the_same_episodes(
    tiny_run, whole, tmp_path, rehearse_from
):
    run = tiny_run("phaser", storage=Storage(rehearse_from=rehearse_from))
    run = own_cache(run, tmp_path / "cache")

    def notify(event):
        if isinstance(event, Preparing) and event.task == "pick-place":
            raise Interrupted

    with pytest.raises(Interrupted):
        run_cell(run, tmp_path / "run", notify)
    delete(run, "reach")
    run_cell(run, tmp_path / "run")
    same(tmp_path / "run", whole)
    rows = pq.read_table(tmp_path / "run" / "losses.parquet").to_pylist()
    assert {row["task"] for row in rows if row["after_task"] == "pick-place"} == {"pick-place"}
