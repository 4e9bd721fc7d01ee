"""Help: what people change on one screen, every setting described, completion, remedies."""

import dataclasses
import importlib
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from phaser.cli import doctor, main
from phaser.cli.completion import SHELLS, flags_of, script
from phaser.cli.methods import OTHERS, group_of
from phaser.cli.screens import SCREENS
from phaser.cli.setting_texts import text_of
from phaser.cli.settings import _is_hidden, setting_flags
from phaser.experiments.presets import PRESETS, preset
from phaser.experiments.run import Run
from phaser.experiments.tables import POLICIES
from phaser.methods.table import METHODS
from phaser.suites.checks import Check

LAST_RESORT = {"--resume", "--from", "--help-all", "--num_processes"}


def settings_in(value: object) -> list[tuple[type, str]]:
    """All settings below a value, as class and field."""
    found = []
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        inner = getattr(value, field.name)
        if _is_hidden(value, field.name, ()):
            continue
        if dataclasses.is_dataclass(inner):
            found += settings_in(inner)
        else:
            found.append((type(value), field.name))
    return found


def every_run() -> list[Run]:
    base = preset("metaworld-10")
    runs = [preset(name) for name in ("metaworld-10", "libero-goal", "datasets")]
    runs += [replace(base, policy=POLICIES[name]()) for name in POLICIES]
    return runs + [base.with_method(METHODS[name]) for name in METHODS]


def test_every_setting_is_described() -> None:
    settings = {one for run in every_run() for one in settings_in(run)}
    assert len(settings) > 150
    assert [one for one in settings if not text_of(*one)] == []


@pytest.mark.parametrize(("verb", "short"), SCREENS.items())
def test_help_fits_on_one_screen_and_names_flags_that_exist(verb, short, capsys) -> None:
    assert main.execute([verb, "--help"]) == 0
    assert capsys.readouterr().out == short
    lines = short.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    named = set(re.findall(r"--[a-z][a-z._-]*[a-z]", short)) - LAST_RESORT
    known = {*importlib.import_module(f"phaser.cli.{verb}")._parser().flags()}
    for name in ("metaworld-10", "datasets"):
        known |= set(setting_flags(preset(name)))
    assert len(named) > 10
    assert named <= known


def test_help_all_lists_every_setting_with_its_text(capsys) -> None:
    assert main.execute(["run", "metaworld-10", "--method", "er", "--help-all"]) == 0
    shown = capsys.readouterr().out
    for flag in setting_flags(preset("metaworld-10").with_method(METHODS["er"])):
        assert flag in shown
    assert "Training steps of each task." in shown


def test_methods_come_in_groups_with_a_recommendation(capsys) -> None:
    assert main.execute(["methods"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Not sure? Take phaser.")
    names = [line.split()[0] for line in shown.splitlines() if line.startswith("  ")]
    assert sorted(names) == sorted(METHODS)
    assert all(group_of(name) != OTHERS for name in METHODS)
    assert group_of("last-newest") == OTHERS


def completed(script_file: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in ("phaser", *words))
    program = (
        f"source {script_file}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _phaser; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_verbs_presets_methods_and_flags(tmp_path: Path) -> None:
    place = tmp_path / "phaser.bash"
    place.write_text(script("bash"))
    assert completed(place, "gr") == ["grid"]
    assert completed(place, "run", "metaworld-f") == ["metaworld-first"]
    assert completed(place, "run", "metaworld-10", "--method", "er-e") == ["er-even"]
    assert "--method.draw.temperature" in completed(place, "run", "metaworld-10", "--method.dr")
    assert completed(place, "demo", "--qu") == ["--quick"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_knows_every_verb_and_preset(shell: str) -> None:
    text = script(shell)
    assert all(re.search(rf"\b{verb}\b", text) for verb in main.VERBS)
    assert all(name in text for name in PRESETS)


def test_flags_of_a_verb_are_those_of_its_help() -> None:
    assert {"--out", "--verify", "--plot"} <= set(flags_of("segment"))


@pytest.mark.parametrize(
    ("ours", "checks", "said"),
    [
        (True, [("robosuite", False), ("bddl", False)], "make libero"),
        (True, [("mujoco", True), ("robosuite", False)], "make setup"),
        (False, [("mujoco", True)], "pip install 'phaser-vla[metaworld]'"),
    ],
)
def test_the_doctor_names_one_command(ours, checks, said, monkeypatch) -> None:
    monkeypatch.setattr(doctor, "in_own_environment", lambda: ours)
    failed = [
        Check(name=name, ok=False, detail="not installed", needed=needed) for name, needed in checks
    ]
    line = doctor.remedy([Check(name="python", ok=True, detail="3.11"), *failed])
    assert line.endswith(f": {said}")
    assert "\n" not in line


def test_the_doctor_repeats_the_remedy_of_a_check() -> None:
    broken = Check(name="weights MiniLM", ok=False, detail="is not there; run: pip install 'x'")
    assert doctor.remedy([broken]) == "To mend it: pip install 'x'"
    assert doctor.remedy([Check(name="python", ok=True, detail="3.11")]) == "All is well."
