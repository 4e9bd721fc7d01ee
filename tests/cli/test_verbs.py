"""Verbs that work: help without heavy imports, lists, progress lines, reports, the doctor."""

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from phaser.cli import doctor, main
from phaser.cli.progress import Watch, duration, evaluation_left, labels, task_line, work_of
from phaser.experiments.axes import Axes
from phaser.experiments.events import Finished, Measured, Preparing, RolledOut, Stepped
from phaser.experiments.presets import PRESETS, preset
from phaser.methods.table import METHODS, method

SOURCE = str(Path(main.__file__).parents[2])
FIRST_TASK = Measured(task="assembly", index=0, loss=0.1, counts={"assembly": (8, 10)})
HEAVY = ("torch", "mujoco", "metaworld", "tyro", "numpy", "pyarrow", "rich", "accelerate")


@pytest.mark.parametrize("words", ["", "main.execute(['--help'])", "main.execute(['--version'])"])
def test_help_imports_nothing_heavy(words: str) -> None:
    program = (
        f"import sys; from phaser.cli import main; {words}\n"
        f"found = [name for name in {HEAVY!r} if name in sys.modules]; sys.exit(str(found))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert done.stderr == "[]\n"


def test_the_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.execute([]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {verb} " in shown for verb in main.VERBS)


@pytest.mark.parametrize("verb", main.VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main.execute([verb, "--help"])
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    assert shown.out.startswith(f"usage: phaser {verb}")


@pytest.mark.parametrize(("verb", "names"), [("methods", METHODS), ("presets", PRESETS)])
def test_lists_have_one_line_per_name(
    verb: str, names: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.execute([verb]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(names)
    assert main.execute([verb, "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(names)


def test_the_line_after_a_task_says_what_is_learnt_and_what_is_left() -> None:
    run = preset("metaworld-quick")
    counts = {"assembly": (1, 2), "hammer": (2, 2), "window-open": (9, 10)}
    event = Measured(task="window-open", index=3, loss=0.1, counts=counts)
    assert task_line("er", run, event) == (
        "er  task 4/10 window-open learnt 9/10 · of the 2 earlier tasks 75 % is left (3/4 rollouts)"
    )
    assert task_line("er", run, FIRST_TASK) == "er  task 1/10 assembly learnt 8/10"
    joint = run.with_method(method("joint"))
    assert "all 10 tasks at once: 12/14" in task_line("joint", joint, event)
    unseen = replace(event, counts={})
    said = "er  task 4/10 window-open learnt: held-out loss not measured"
    assert task_line("er", run, unseen) == said


def test_a_pipe_gets_plain_lines_with_the_time_left() -> None:
    cells = Axes(methods=("sequential", "er")).cells(preset("metaworld-quick"))
    stream = io.StringIO()
    with Watch(cells, stream=stream) as watch:
        watch.expect_recordings(10)
        watch.recorded("assembly")
        name = cells[0].name
        watch.cell(name, Preparing(task="assembly"))
        watch.cell(name, Stepped(step=300, steps=300, loss=0.1))
        watch.cell(name, FIRST_TASK)
        watch.cell(name, Finished())
    assert stream.getvalue().splitlines() == [
        "recorded assembly (1 of 10)",
        "sequential  task 1/10 assembly learnt 8/10 · about 5 s left",
    ]


def test_the_line_after_a_task_tells_how_fast_its_rollouts_were() -> None:
    cells = Axes(methods=("er",)).cells(preset("metaworld-quick"))
    stream, name = io.StringIO(), cells[0].name
    episode = RolledOut(
        task="assembly",
        success=True,
        episodes=4,
        planned=10,
        episodes_per_s=1.94,
        seconds_left=62.0,
        shares={"physics": 0.61, "rendering": 0.24, "policy": 0.15},
    )
    with Watch(cells, stream=stream) as watch:
        watch.cell(name, episode)
        watch.cell(name, FIRST_TASK)
    [line] = stream.getvalue().splitlines()
    speed = "1.9 rollouts/s (physics 61 %, rendering 24 %, policy 15 %)"
    assert line == f"er  task 1/10 assembly learnt 8/10 · {speed}"
    assert evaluation_left(episode) == f"4/10, 60 s left · {speed}"


def test_the_work_of_a_cell_counts_steps_and_rollouts() -> None:
    run = preset("metaworld-quick")
    # 9 × 10 just learnt, 2 × (1 + … + 8) earlier ones, 10 × 10 at the end.
    assert work_of(run) == 10 * run.fit.steps_per_task + 10 * (90 + 72 + 100)


def test_cells_are_labelled_by_what_tells_them_apart() -> None:
    run = preset("metaworld-quick")
    assert labels(Axes(methods=("er", "phaser")).cells(run)) == ["er    ", "phaser"]
    assert labels([run, replace(run, seed=1)]) == [run.name, replace(run, seed=1).name]


def test_durations_are_round() -> None:
    assert [duration(s) for s in (1, 62, 600, 9000)] == ["5 s", "60 s", "10 min", "2.5 h"]


def test_the_doctor_finds_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    assert main.execute(["doctor", "--json"]) == 2
    found = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    assert found["python"]["ok"]
    for name in ("GL", "cache", "simulation"):
        assert not found[name]["ok"]
    assert "MUJOCO_GL" in found["simulation"]["detail"]


def test_the_doctor_draws_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    check = doctor._simulation()
    assert check.ok, check.detail
    assert "corner 96×96" in check.detail
