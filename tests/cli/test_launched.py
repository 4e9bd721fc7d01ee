"""`phaser run` under a launcher: what it cannot do, and who of several processes says so."""

import os
import subprocess
import sys

import pytest

from phaser.cli import main

RUN = ["run", "metaworld-quick"]


@pytest.mark.parametrize(
    ("flag", "method", "said"),
    [
        ("ACCELERATE_USE_FSDP", "phaser", "accelerate configures FSDP with version 1"),
        ("ACCELERATE_USE_MEGATRON_LM", "phaser", "accelerate is configured for Megatron-LM"),
        ("ACCELERATE_USE_DEEPSPEED", "mir-snapshot", "mir-snapshot reads the gradient"),
        ("ACCELERATE_USE_DEEPSPEED", "agem", "agem reads the gradient"),
    ],
)
def test_a_launcher_that_is_refused_is_one_line_before_anything_starts(
    flag, method, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv(flag, "true")
    assert main.execute([*RUN, "--method", method, "--out", str(tmp_path / "run")]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(f"phaser: {said}")
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def started(rank):
    """One of two processes that make the same mistake."""
    return subprocess.Popen(
        [sys.executable, "-m", "phaser.cli", "run", "metaworld-quik"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "WORLD_SIZE": "2", "RANK": str(rank), "LOCAL_RANK": str(rank)},
    )


def test_a_mistake_of_all_processes_is_said_by_the_first_alone():
    """The launcher, here the test, ends the second when the first has failed."""
    second, first = started(1), started(0)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 2
    assert second.poll() is None
    second.terminate()
    _, repeated = second.communicate(timeout=60)
    assert said.count("\n") == 1
    assert "did you mean metaworld-quick" in said
    assert repeated == ""


def test_a_mistake_that_the_first_does_not_meet_is_said_with_the_process_s_number(
    monkeypatch, capsys
):
    waited = []
    monkeypatch.setattr(main.time, "sleep", waited.append)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert main.execute(["run", "metaworld-quik"]) == 2
    assert waited == [main.FIRST_SPEAKS_S]
    assert capsys.readouterr().err.startswith("phaser: process 1: unknown preset")
