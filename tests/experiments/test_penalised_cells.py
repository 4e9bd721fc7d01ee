"""Cells of methods with a penalty: taken up after any step they end with the same bits."""

from dataclasses import replace

import pytest
import torch
from made_up_run import made_up_run
from safetensors.torch import load_file

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json, write_json
from phaser.core.streams import Streams
from phaser.evaluation.simulators import Simulators
from phaser.experiments import resume
from phaser.experiments.cell import run_cell
from phaser.experiments.position import Position
from phaser.experiments.prepare import Preparation
from phaser.experiments.run import Run, run_from, settings_of
from phaser.methods.dark import Dark
from phaser.methods.no_penalty import NoPenalty
from phaser.replay.replay import Replay
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable

PENALISED = ["icarl", "der", "agem", "ewc"]
LEFT = {"icarl": True, "der": True, "agem": False, "ewc": True}
FIT = Fit(steps_per_task=2, batch_size=6, checkpoint_every_steps=1)


class Interrupted(BaseException):
    """A process that ends here."""


@pytest.fixture(scope="module")
def simulators():
    with Simulators() as kept:
        yield kept


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("penalised-cache")


def bits(folder):
    """All that a run computed; position.json and timing.json hold clocks too."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".parquet", ".safetensors") or path.name == "budget.json"
    }


def penalised_run(cache, name):
    run = made_up_run(cache, name, fit=FIT)
    return replace(run, suite=replace(run.suite, task_list=("reach", "push")))


def ran_through(run, folder, simulators, monkeypatch, *, commits=1):
    """Cut the run off after so many commits; whether it ended before."""
    write, written = Position.write, []

    def cut(position, path):
        write(position, path)
        written.append(position)
        if len(written) == commits:
            raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(resume.Position, "write", cut)
        try:
            run_cell(run, folder, simulators=simulators)
        except Interrupted:
            return False
    return True


@pytest.mark.parametrize("name", PENALISED)
def test_a_cell_cut_off_after_every_step_of_its_second_task_ends_with_the_same_bits(
    name, cache, simulators, tmp_path, monkeypatch
):
    run = penalised_run(cache, name)
    run_cell(run, tmp_path / "whole", simulators=simulators)
    first_task, cuts = FIT.steps_per_task + 1, 0
    ran_through(run, tmp_path / "cut", simulators, monkeypatch, commits=first_task)
    while not ran_through(run, tmp_path / "cut", simulators, monkeypatch):
        cuts += 1
    assert cuts == FIT.steps_per_task + 1
    assert bits(tmp_path / "cut") == bits(tmp_path / "whole")
    files = [path.name for path in (tmp_path / "whole" / "penalty").glob("*")]
    assert files == (["01-push.safetensors"] if LEFT[name] else [])
    assert Position.read(tmp_path / "cut" / "position.json").penalty.keys() == set(files)


@pytest.mark.parametrize("head", ["regression", "flow"])
def test_dark_replay_stores_for_good_what_the_policy_says_when_a_task_ends(
    head, cache, simulators, tmp_path, monkeypatch
):
    run = penalised_run(cache, "der")
    run = replace(run, policy=replace(run.policy, head=head))
    ran_through(run, tmp_path, simulators, monkeypatch, commits=FIT.steps_per_task + 1)
    first = load_file(tmp_path / "penalty" / "00-reach.safetensors")
    run_cell(run, tmp_path, simulators=simulators)
    both = load_file(tmp_path / "penalty" / "01-push.safetensors")
    assert both.keys() > first.keys() == {"penalty/outputs/reach", "penalty/places/reach"}
    assert all(torch.equal(both[name], value) for name, value in first.items())
    policy = run.policy.build(run.suite.contract, Streams(0).named("weights"))
    [reach, _] = run.suite.tasks()
    preparation = Preparation.of(run.suite, run.policy, run.encoders, chunk_length=4)
    made = preparation.material(reach, run.segmenter_of("reach"))
    policy.load_trained_state(load_file(tmp_path / "checkpoints" / "00-reach.safetensors"))
    refs = [FrameRef("reach", *place) for place in first["penalty/places/reach"].tolist()]
    batch = policy.batch(FrameTable({"reach": made.train}).samples(refs))
    with torch.no_grad():
        assert torch.equal(policy.outputs(batch), first["penalty/outputs/reach"])


def test_what_was_left_is_refused_when_it_was_changed(cache, simulators, tmp_path, monkeypatch):
    run = penalised_run(cache, "der")
    ran_through(run, tmp_path, simulators, monkeypatch, commits=FIT.steps_per_task + 1)
    path = tmp_path / "penalty" / "00-reach.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(BrokenFile, match=r"00-reach\.safetensors has SHA-256"):
        run_cell(run, tmp_path, simulators=simulators)


def test_a_position_comes_back_as_it_was_and_one_of_an_older_version_is_refused(tmp_path):
    path, position = tmp_path / "position.json", Position(task_index=1, step=3)
    position.write(path)
    assert Position.read(path) == position
    write_json(path, {**read_json(path), "version": 1})
    with pytest.raises(BrokenFile, match="version 1, this phaser reads 2; go on with the phaser"):
        Position.read(path)


def test_a_run_that_names_no_penalty_has_none():
    settings = settings_of(Run())
    assert settings["method"].pop("penalty") == {"kind": "NoPenalty"}
    assert run_from(settings, source="run.json") == Run()
    settings["method"]["penalty"] = {"kind": "Dark", "weight": 2.0}
    assert run_from(settings, source="run.json").method.penalty == Dark(weight=2.0)
    assert Run().method.penalty == NoPenalty()


@pytest.mark.parametrize("name", PENALISED)
def test_replay_in_other_loops_refuses_what_it_cannot_do(name, tmp_path):
    with pytest.raises(BadInput, match="needs your policy"):
        Replay(tmp_path, method=name, budget=10)
