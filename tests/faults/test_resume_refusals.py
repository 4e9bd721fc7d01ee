"""What an interrupted run will not go on with: other settings, libraries, demonstrations, bytes."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_run import made_up_run

from phaser.cli import run as run_verb
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import write_json
from phaser.core.locks import InUse, exclusive
from phaser.evaluation.simulators import Simulators
from phaser.experiments import compatibility
from phaser.experiments.cell import Cell, run_cell
from phaser.experiments.events import Preparing
from phaser.experiments.grid import is_finished
from phaser.experiments.kept_frames import KeptFrames
from phaser.experiments.position import Position
from phaser.routing.by_loss import ByLoss
from phaser.training.fit import Fit


class Interrupted(BaseException):
    """A process that ends here."""


def interrupted(run, folder, *, at_step):
    """Leave a run in its second task, as a killed process would."""
    prepared = []

    def notify(event):
        if isinstance(event, Preparing) and event.task not in prepared:
            prepared.append(event.task)

    def progress(step, steps, loss):
        if len(prepared) == 2 and step == at_step:
            raise Interrupted

    with Simulators() as simulators:
        cell = Cell(run=run, path=folder, notify=notify, simulators=simulators)
        cell.learner = replace(cell.learner, progress=progress)
        with pytest.raises(Interrupted):
            cell.execute()
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("made-up-cache")


@pytest.fixture(scope="module")
def left(cache, tmp_path_factory):
    return interrupted(made_up_run(cache), tmp_path_factory.mktemp("left") / "run", at_step=4)


@pytest.fixture
def half(left, tmp_path):
    """A run that was cut off in its second task, with a checkpoint after two of six steps."""
    return Path(shutil.copytree(left, tmp_path / "run"))


def one_line(caught):
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_position_of_an_interrupted_run_says_all_that_it_needs(half):
    found = Position.read(half / "position.json")
    assert (found.task_index, found.step) == (1, 2)
    assert set(found.demonstrations) == {"reach", "push"}
    assert set(found.memory) == {"reach"}
    assert found.contract["state_centre"]
    assert found.seconds["total_cpu_s"] > 0
    files = sorted(path.name for path in (half / "checkpoints").iterdir())
    assert files == ["00-reach.json", "00-reach.safetensors", "unfinished-01-0000002.safetensors"]


def test_other_settings_are_refused_with_a_diff(half, cache):
    fit = Fit(steps_per_task=7, batch_size=6)
    for refuse in (run_cell, is_finished):
        with pytest.raises(BadInput, match="holds a run with other settings") as caught:
            refuse(made_up_run(cache, fit=fit, seed=3), half)
        line = one_line(caught)
        assert "fit.steps_per_task: 6 → 7" in line
        assert "seed: 0 → 3" in line
        assert "batch_size" not in line


def test_how_often_it_is_saved_may_change_and_changes_no_bit(half, cache, tmp_path):
    run_cell(made_up_run(cache), tmp_path / "other")
    often = replace(made_up_run(cache).fit, checkpoint_every_steps=1)
    run_cell(made_up_run(cache, fit=often), half)
    for name in ("episodes.parquet", "losses.parquet", "checkpoints/02-hammer.safetensors"):
        assert (half / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_other_libraries_are_refused_with_a_diff(half, cache, monkeypatch):
    now = compatibility.versions()
    monkeypatch.setattr(
        compatibility, "versions", lambda: {**now, "torch": "9.9", "pyarrow": "9.9"}
    )
    with pytest.raises(BadInput, match=r"torch: .* → 9\.9\)") as caught:
        run_cell(made_up_run(cache), half)
    assert "pyarrow" not in one_line(caught)


def test_other_code_goes_on_and_is_written_down(half, cache, monkeypatch):
    monkeypatch.setattr("phaser.experiments.folder.commit", lambda: "another commit")
    monkeypatch.setattr(compatibility, "commit", lambda: "another commit")
    before = json.loads((half / "run.json").read_text())
    assert compatibility.other_commit(half) == before["commit"]
    run_cell(made_up_run(cache), half)
    after = json.loads((half / "run.json").read_text())
    assert after == {**before, "other_commits": ["another commit"]}


@pytest.mark.parametrize("task", ["reach", "push"])
def test_changed_demonstrations_are_refused_and_named(half, cache, task):
    changed = cache / f"{task}-changed"
    changed.touch()
    try:
        with pytest.raises(BadInput, match=f"demonstrations of task '{task}' changed") as caught:
            run_cell(made_up_run(cache), half)
    finally:
        changed.unlink()
    assert "train: " in one_line(caught)
    run_cell(made_up_run(cache), half)


def test_a_memory_that_lost_a_task_is_refused(half, cache):
    for path in (half / "memory" / "tasks").iterdir():
        path.unlink()
    with pytest.raises(BrokenFile, match="reach"):
        run_cell(made_up_run(cache), half)
    for path in (half / "memory").iterdir():
        path.rmdir() if path.is_dir() else path.unlink()
    with pytest.raises(BrokenFile, match="stored frames of task 'reach' changed"):
        run_cell(made_up_run(cache), half)


def test_a_second_process_on_one_folder_is_refused(half, cache):
    before = (half / "position.json").read_bytes()
    with exclusive(half / ".lock", what="run folder"), pytest.raises(InUse, match="run folder"):
        run_cell(made_up_run(cache), half)
    assert (half / "position.json").read_bytes() == before


@pytest.mark.parametrize(
    "name",
    [
        "position.json",
        "checkpoints/00-reach.safetensors",
        "checkpoints/unfinished-01-0000002.safetensors",
    ],
)
def test_any_flipped_byte_of_a_checkpoint_is_noticed_and_the_file_named(
    half, cache, name, fault_seed
):
    path = half / name
    whole = path.read_bytes()
    for where in np.random.default_rng(fault_seed).choice(len(whole), 12, replace=False):
        broken = bytearray(whole)
        broken[where] ^= 1 << int(where) % 8
        path.write_bytes(bytes(broken))
        with pytest.raises(BrokenFile, match=path.name) as caught:
            run_cell(made_up_run(cache), half)
        one_line(caught)
    path.write_bytes(whole)
    run_cell(made_up_run(cache), half)


@pytest.mark.parametrize("lost", ["checkpoints/00-reach.safetensors", "episodes.parquet"])
def test_a_lost_file_is_named(half, cache, lost):
    (half / lost).unlink()
    with pytest.raises(BrokenFile, match=lost):
        run_cell(made_up_run(cache), half)


def test_a_position_of_a_newer_version_is_refused_with_advice(half):
    found = json.loads((half / "position.json").read_text())
    write_json(half / "position.json", {**found, "version": 3})
    with pytest.raises(BrokenFile, match="version 3, this phaser reads 2"):
        Position.read(half / "position.json")


def test_the_memory_read_back_is_the_one_that_was_in_ram(cache, tmp_path):
    run = made_up_run(cache)
    folder = tmp_path / "run"
    with Simulators() as simulators:
        cell = Cell(run=run, path=folder, notify=print, simulators=simulators)
        cell.execute()
    stored = KeptFrames(path=folder / "memory", run=run)
    found = stored.restored(cell.checkpoints.position.memory).buckets
    kept = [bucket for task in run.suite.tasks() for bucket in selected(cell, task)]
    assert len(found) == len(kept) > 3
    for one, two in zip(found, kept, strict=True):
        assert one.phase == two.phase
        assert list(one.frames) == list(two.frames)
        assert one.prototype.motion == two.prototype.motion
        for part in ("language", "vision", "action"):
            left, right = getattr(one.prototype, part), getattr(two.prototype, part)
            assert left.dtype == right.dtype
            assert left.tobytes() == right.tobytes()


def selected(cell, task):
    prepared = cell.materials[task.name].prepared
    stream = cell.streams.named("keep", task.name)
    return cell.run.method.keep.select(prepared, cell.run.budget.amount, stream)


def test_a_draw_that_asks_for_losses_is_given_those_of_the_task_s_beginning(cache, tmp_path):
    """Its weights come from the policy before the task, which is not the one that is restored."""
    base = made_up_run(cache)
    run = base.with_method(replace(base.method, draw=ByLoss(exponent=4.0)))
    run_cell(run, tmp_path / "whole")
    interrupted(run, tmp_path / "half", at_step=5)
    run_cell(run, tmp_path / "half")
    for name in ("steps/01-push.parquet", "checkpoints/02-hammer.safetensors", "routing.json"):
        assert (tmp_path / "half" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume", "nowhere"], "nowhere holds no run to go on with"),
        (["metaworld-10", "--resume", "x"], "--resume takes preset, --from and --out"),
        (["--resume", "x", "--out", "y"], "--resume takes preset, --from and --out"),
    ],
)
def test_resume_without_a_run_or_with_another_is_refused(words, message):
    with pytest.raises(BadInput, match=message):
        run_verb.execute(words)


def test_the_verb_says_where_a_run_goes_on_and_refuses_other_settings(half, cache, monkeypatch):
    monkeypatch.setattr(
        compatibility, "commit", lambda: json.loads((half / "run.json").read_text())["commit"]
    )
    [line] = run_verb._where_it_stands(made_up_run(cache), half)
    assert line == f"{half} was interrupted; it goes on from task 2/3 push, step 2."
    with pytest.raises(BadInput, match="seed: 0 → 5"):
        run_verb.execute(["--resume", str(half), "--seed", "5"])
