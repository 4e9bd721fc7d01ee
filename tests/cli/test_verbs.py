"""Verbs that work: help without heavy imports, lists, progress lines, reports, the doctor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from phaser.cli import doctor, main
from phaser.cli.text_table import duration
from phaser.experiments.presets import PRESETS
from phaser.methods.table import METHODS

SOURCE = str(Path(main.__file__).parents[2])
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
def test_lists_have_every_name(
    verb: str, names: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.execute([verb]) == 0
    first = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line]
    assert set(names) <= set(first)
    assert main.execute([verb, "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(names)


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
