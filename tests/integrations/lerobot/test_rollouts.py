"""Earlier datasets are rolled out again in their own environments, by LeRobot's own function."""

import json
from pathlib import Path
from typing import Any

import pytest


def rows_of(memory: Path) -> dict[tuple[int, int], dict[str, Any]]:
    lines = (memory / "lerobot" / "rollouts.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return {(row["after_index"], row["task_index"]): row for row in found}


def test_after_each_dataset_every_learnt_one_is_tried_in_its_own_environment(
    arms: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tiny_runs import ACT, RUN, SMALL, SOURCES, command, environment, started

    here = Path(__file__).parent
    monkeypatch.setattr(
        "tiny_runs.environment",
        lambda base=environment: {**base(), "PYTHONPATH": f"{SOURCES}:{here}"},
    )
    out, log = tmp_path / "out", tmp_path / "log.txt"
    words = [*ACT, *RUN, *SMALL, "--num_workers=0", "--steps=2", f"--output_dir={out}"]
    words += ["--env.type=made", "--env.discover_packages_path=made_envs"]
    words += ["--replay.env-tasks", "left", "right", "--replay.rollouts", "3"]
    words += ["--eval.batch_size=2"]
    run = started(command("--stream", arms["left_png"], arms["right_png"], *words), log)
    assert run.wait() == 0, log.read_text()[-3000:]
    found = rows_of(out / "memory")
    assert sorted(found) == [(0, 0), (1, 0), (1, 1)]
    assert {row["rollouts"] for row in found.values()} == {3}
    successes = {key: row["successes"] for key, row in found.items()}
    assert successes == {(0, 0): 3, (1, 0): 3, (1, 1): 0}
    assert [found[1, place]["env_task"] for place in (0, 1)] == ["left", "right"]
    said = log.read_text()
    assert "success in simulation\ndataset" in said
    page = (out / "memory" / "lerobot" / "report.html").read_text()
    assert "Success in simulation" in page
    assert "0 of 3" in page


def test_tasks_of_environments_that_are_not_one_per_dataset_are_refused(
    arms: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from phaser.cli.main import execute

    words = ["--replay.env-tasks", "left", f"--output_dir={tmp_path}/out"]
    stream = ["--stream", str(arms["left_png"]), str(arms["right_png"])]
    assert execute(["lerobot-train", *stream, *words]) == 2
    assert "names 1 tasks for 2 datasets" in capsys.readouterr().err
