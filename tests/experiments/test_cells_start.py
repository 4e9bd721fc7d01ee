"""Each cell of the paper's table starts with its one command, at the tiny size, on made-up files.

Rollouts are made up as well: they need a simulator. Everything else is as in a real run.
"""

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytest.importorskip("h5py", reason="needs phaser-vla[hdf5]")
pytest.importorskip("transformers", reason="needs phaser-vla[backbones]")
pytest.importorskip("peft", reason="needs phaser-vla[backbones]")
sys.path.append(str(Path(__file__).parents[1] / "suites" / "libero"))

from published_files import write_made_up

from phaser.cli import main
from phaser.evaluation.rollouts import Episode, Throughput
from phaser.experiments import measuring
from phaser.experiments.backbone_presets import CELLS_OF_THE_TABLE
from phaser.experiments.presets import preset

SMALLER = (
    *("--policy.size", "tiny", "--fit.steps-per-task", "2", "--fit.batch-size", "4"),
    *("--evaluation.rollouts-per-task", "1", "--evaluation.learnt-rollouts", "1"),
    *("--budget", "6", "--workers", "1", "--simulators", "1"),
)


@pytest.fixture(autouse=True)
def _without_a_simulator(monkeypatch):
    def failed(policy, suite, jobs, streams, **more):
        episodes = [
            Episode(task=job.task.name, env_seed=job.env_seed, success=False, steps=job.horizon)
            for job in jobs
        ]
        return episodes, Throughput()

    monkeypatch.setattr(measuring, "rollouts", failed)
    monkeypatch.setattr("phaser.cli.run.require_suite", lambda run: None)
    monkeypatch.delenv("PHASER_LIBERO_ASSETS", raising=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Files of two tasks of each suite, and the cache in which their features are kept."""
    place = tmp_path_factory.mktemp("cells")
    for name in ("qwen-oft-libero-goal", "qwen-oft-libero-long"):
        for task in tasks_of(name):
            write_made_up(place / "files", task, count=3, length=8)
    return place


def tasks_of(name):
    return [task.name for task in preset(name).suite.tasks()][:2]


def command(name, place):
    words = ["--suite.demonstrations", str(place / "files"), "--suite.task-list", *tasks_of(name)]
    # Two tasks of ten: the phases that the paper publishes are named again for them.
    phases = ["--phases", "libero-goal"] if name.endswith("goal") else []
    return ["run", name, *SMALLER, *words, *phases]


@pytest.mark.parametrize("name", CELLS_OF_THE_TABLE)
def test_a_cell_starts_learns_and_rehearses_with_one_command(
    name, place, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("PHASER_CACHE", str(place / "cache"))
    tasks = tasks_of(name)
    weights = ["--policy.weights.checkpoint", ""]
    out = tmp_path / "run"
    code = main.execute([*command(name, place), *weights, "--out", str(out)])
    assert (code, capsys.readouterr().err) == (0, "")
    settings = json.loads((out / "run.json").read_text())
    assert settings["preset"] == name
    learnt = pq.read_table(out / "steps" / f"01-{tasks[1]}.parquet")
    assert learnt["sample_tasks"].to_pylist() == [[tasks[0]] * 2 + [tasks[1]] * 2] * 2
    assert (out / "done.json").is_file()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--policy.weights.checkpoint", "{}/nothing"], "/nothing is no folder and no hub id"),
        (
            ["--policy.weights.checkpoint", "{}"],
            "{} is no checkpoint folder: no *.safetensors in it",
        ),
        (["--policy.scaling.statistics", "{}/lost.json"], "/lost.json does not exist"),
        (["--policy.scaling.statistics", "{}/six.json"], "have 6 action numbers, the suite's"),
        (["--policy.num-cameras", "3"], "reads 3 cameras, the suite 'libero' has 2"),
    ],
    ids=str,
)
def test_what_does_not_fit_a_cell_is_one_line_of_the_command(
    flags, said, place, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("PHASER_CACHE", str(place / "cache"))
    numbers = dict.fromkeys(("mean", "std", "min", "q01"), [0.0] * 6)
    numbers |= dict.fromkeys(("max", "q99"), [1.0] * 6)
    (tmp_path / "six.json").write_text(json.dumps({"robot": {"action": numbers}}))
    words = [word.format(tmp_path) for word in flags]
    fresh = [] if "checkpoint" in flags[0] else ["--policy.weights.checkpoint", ""]
    cell = command("openvla-oft-libero-goal", place)
    assert main.execute([*cell, *fresh, *words, "--out", str(tmp_path / "run")]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("phaser: ")
    assert shown.count("\n") == 1
    assert said.format(tmp_path) in shown
