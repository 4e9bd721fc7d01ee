"""What a user does wrong gives one line on standard error, exit code 2 and no traceback."""

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from phaser.cli import main
from phaser.core import files
from phaser.suites import gl

TINY = (
    "--suite.task-list drawer-close window-close --suite.recording.num-train 2 "
    "--suite.recording.num-heldout 1 --suite.recording.noise 0 --fit.steps-per-task 2"
)


def one_line(capsys: pytest.CaptureFixture[str], words: str) -> str:
    """Run a command that must fail as the user's mistake; returns its one line."""
    assert main.execute(shlex.split(words)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("phaser: ")
    return shown.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("rnu", "did you mean run?"),
        ("--jsno", "unknown flag '--jsno'"),
        ("run", "name a preset"),
        ("run metaworld-quik", "did you mean metaworld-quick"),
        ("run metaworld-quick --method phasr", "did you mean phaser"),
        ("run metaworld-quick --suite.task-list hamer assembly", "did you mean hammer"),
        ("run metaworld-quick --suite.order backwards", "unknown task order 'backwards'"),
        ("run metaworld-quick --bugdet 3", "did you mean --budget"),
        ("run metaworld-quick --policy.haed flow", "did you mean --policy.head"),
        ("run metaworld-quick --policy.head=flo", "'flo'"),
        ("run metaworld-quick --fit.steps-per-task x", "--fit.steps-per-task"),
        ("run metaworld-quick --fit.steps-per-task", "--fit.steps-per-task"),
        ("run metaworld-quick --fit.steps-per-task -4", "steps_per_task -4"),
        ("run metaworld-quick extra", "unexpected 'extra'"),
        ("run metaworld-quick --budget -3", "'-3' is not a whole number of at least 1"),
        ("run metaworld-quick --budget 0", "--budget: '0' is not a whole number of at least 1"),
        ("run metaworld-quick --budget many", "'many' is not a whole number"),
        ("run metaworld-quick --budget-bytes 0", "--budget-bytes: '0' is not a whole number"),
        ("run metaworld-quick --budget-bytes -5", "'-5' is not a whole number of at least 1"),
        ("run metaworld-quick --budget-bytes 1e6", "'1e6' is not a whole number"),
        ("run metaworld-quick --budget-bytes 90000 --budget 20", "not allowed with argument"),
        ("run metaworld-quick --budget-total 9 --budget.floor 0", "a budget with floor 0"),
        ("run metaworld-quick --method.keep.frames-per-task 30", "unknown flag"),
        ("run metaworld-quick --storage.codec jpeg:0", "image quality 0"),
        ("run metaworld-quick --storage.codec pgn", "did you mean png"),
        ("run metaworld-quick --keep Evne", "did you mean Even"),
        ("run metaworld-quick --draw Ruoted", "did you mean Routed"),
        ("run metaworld-quick --penalty Drak", "did you mean Dark"),
        ("run metaworld-quick --policy tniy", "did you mean tiny"),
        ("run metaworld-quick --suite metaword", "did you mean metaworld"),
        ("run metaworld-quick --encoders.vision polcy", "did you mean policy"),
        ("run metaworld-quick --seed -1", "seed -1"),
        ("run metaworld-quick --phases nowhere.json", "nowhere.json does not exist"),
        ("run --from nowhere.json", "nowhere.json does not exist"),
        ("grid", "name a preset"),
        ("grid metaworld-10 --methods er phasr", "did you mean phaser"),
        ("grid metaworld-10 --budgets -3", "a budget with amount -3"),
        ("grid metaworld-10 --budget-bytes 0", "a budget with amount 0"),
        ("grid metaworld-10 --budget-bytes some", "--budget-bytes 'some'; expected whole numbers"),
        ("grid metaworld-10 --budgets 20 --budget-bytes 90000", "not allowed with argument"),
        ("grid metaworld-10 --seeds one", "expected whole numbers"),
        ("grid metaworld-10 --method.draw.temperature 1", "unknown flag"),
        ("run metaworld-quick --fit.learning-rate nan", "learning_rate nan; expected a number"),
        ("run metaworld-quick --fit.learning-rate -1", "learning_rate -1.0; expected a number"),
        ("run metaworld-quick --fit.weight-decay nan", "weight_decay nan; expected a number"),
        ("run metaworld-quick --suite.recording.noise nan", "noise nan; expected a number of at"),
        ("run metaworld-quick --method.segmenter.min-score nan", "min_score nan; expected a"),
        (f"run metaworld-quick --seed {10**23}", "expected a whole number of at least 0 (of 64"),
        (f"run metaworld-quick --budget {10**23}", "not a whole number of at least 1"),
        (f"run metaworld-quick --workers {10**9}", "not a whole number from 1 to 1024"),
        (f"run metaworld-quick --simulators {'9' * 9999}", "not a whole number from 1 to 1024"),
        (f"run metaworld-quick --seed {'9' * 9999}", "--seed"),
        ("phases agree libero-goal libero-goal --tolerance -1", "not a whole number of at"),
        ("grid metaworld-10 --workers 0", "from 1 to 1024"),
        ("grid metaworld-10 --budget-tolerance 2", "not a share"),
        ("record metaworld-1", "did you mean metaworld-10"),
        ("demo --worker 2", "did you mean --workers"),
        ("methods --jsno", "did you mean --json"),
        ("report", "required: DIR"),
        ("report /nonexistent", "holds no finished run"),
        ("report --arms a b --out page.html", "--arms takes no --out"),
        ("report --arms a b --stop-early", "--arms takes no --stop-early"),
        ("report --export folder a --margin 5", "--export takes no --margin"),
        ("report --check a.md --markdown", "--check takes no --markdown"),
    ],
)
def test_a_mistake_is_one_line(
    words: str,
    expected: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert expected in one_line(capsys, words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["run metaworld-quick", "grid metaworld-10", "demo"])
def test_a_folder_that_cannot_be_written_is_named(
    verb: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "runs"
    assert f"cannot write into {place}" in one_line(capsys, f"{verb} --out {place}")


def test_a_cache_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "file" / "cache"))
    words = f"run metaworld-quick --out {tmp_path / 'runs'}"
    assert f"cannot write into {tmp_path / 'file' / 'cache'}" in one_line(capsys, words)


def test_a_full_disk_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file passes through the same writer; the disk is full when it writes."""

    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "_write_all", full)
    monkeypatch.setattr("phaser.suites.metaworld.suite.MetaWorld.missing", lambda suite: [])
    line = one_line(capsys, f"run metaworld-quick --out {tmp_path / 'runs'} {TINY}")
    assert "No space left on device; free space or choose another folder" in line


@pytest.mark.parametrize(
    "verb", ["run metaworld-quick", "grid metaworld-10", "demo", "record metaworld-10"]
)
def test_an_unknown_gl_backend_is_one_line(
    verb: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    assert "MUJOCO_GL='nonsense'" in one_line(capsys, verb)


def test_a_missing_gl_library_says_what_to_install(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(
        "phaser.suites.metaworld.suite.choose_gl",
        lambda: gl.choose_gl({}, can_load=lambda backend: False),
    )
    assert "install libosmesa6" in one_line(capsys, f"run metaworld-quick --out {tmp_path}")


def test_a_budget_below_the_number_of_phases_fails_before_training(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained(*_: object) -> None:
        raise AssertionError("training was started")

    monkeypatch.setattr("phaser.experiments.cell.run_cell", trained)
    words = f"run metaworld-quick --budget 1 --out {tmp_path} {TINY}"
    words += " --method.segmenter.min-score 0.01"
    assert main.execute(shlex.split(words)) == 2
    shown = capsys.readouterr()
    assert shown.out.startswith("The budget is small")
    assert shown.err.startswith("phaser: a budget of 1 frames per task is smaller than the")
    assert shown.err.count("\n") == 1


def test_bytes_too_few_for_a_frame_per_phase_fail_before_training(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = f"run metaworld-quick --budget-bytes 9000 --out {tmp_path} {TINY} --workers 1"
    assert main.execute(shlex.split(words)) == 2
    line = capsys.readouterr().err
    assert line.startswith("phaser: task 'drawer-close': a budget of 9000 bytes, but the smallest")
    assert line.count("\n") == 1
    assert not (tmp_path / "run.json").exists()


def test_a_finished_cell_of_other_settings_is_not_reused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text('{"settings": {"seed": 9}}')
    (tmp_path / "done.json").write_text("{}")
    words = f"run metaworld-quick --out {tmp_path}"
    assert "holds a run with other settings" in one_line(capsys, words)


def test_an_interrupt_is_one_line_and_130(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("phaser.cli.methods.execute", interrupt)
    assert main.execute(["methods"]) == 130
    assert capsys.readouterr().err.count("\n") == 1


def test_a_bug_is_not_dressed_up_as_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(arguments: list[str]) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr("phaser.cli.methods.execute", bug)
    with pytest.raises(ZeroDivisionError):
        main.execute(["methods"])


def test_the_installed_command_exits_with_two_and_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "phaser.cli", "rnu"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(main.__file__).parents[2])},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "phaser: unknown verb 'rnu'; did you mean run?\n"
