"""`phaser doctor libero`: green where all is well, else the line that says what mends it."""

import json
import re
import time
import tomllib
from pathlib import Path

import pytest

from phaser.cli import main
from phaser.suites import checks as looking
from phaser.suites.checks import Check, in_child
from phaser.suites.gl import probe
from phaser.suites.libero import assets, doctor, runtime
from phaser.suites.libero import golden as episode
from phaser.suites.libero.assets import INSTALL
from phaser.suites.libero.golden import golden
from phaser.suites.libero.init_states import original_file
from phaser.suites.libero.protocol import changed
from phaser.suites.libero.runtime import PACKAGES

SOURCE = str(Path(__file__).parents[3] / "src")


@pytest.fixture(autouse=True)
def _children_find_phaser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    monkeypatch.delenv("MUJOCO_GL", raising=False)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the two checks that draw in children."""
    monkeypatch.setattr(doctor, "probe", lambda backend: (True, "draws"))
    answer = {"steps": 84, "wrong": [], "seen": "first frame 0, the recorded frame"}
    monkeypatch.setattr(doctor, "in_child", lambda code, timeout_s: (True, json.dumps(answer)))


def test_all_is_green_here_and_the_home_folder_stays_empty(
    needs_libero: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR"):
        monkeypatch.delenv(variable, raising=False)
    assert main.execute(["doctor", "libero", "--json"]) == 0
    assert not list(tmp_path.iterdir())
    found = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    assert found["hf-libero"]["detail"] == "0.1.4"
    assert "osmesa: draws" in found["GL"]["detail"] or "egl: draws" in found["GL"]["detail"]
    assert "solved at step" in found["golden episode"]["detail"]


@pytest.mark.usefixtures("needs_libero", "quick")
def test_only_the_suite_that_is_asked_for_must_have_its_assets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = assets.assets_folder("libero-goal")
    monkeypatch.setenv(assets.VARIABLE, str(goal))
    assert main.execute(["doctor", "libero"]) == 0
    assert "\nabsent   assets libero-spatial" in capsys.readouterr().out
    assert main.execute(["doctor", "libero-spatial"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if line.startswith("missing"))
    assert "libero-spatial lacks" in line
    assert "run: phaser libero fetch --suites libero-spatial, or set" in line


def test_an_unknown_thing_is_no_failed_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.execute(["doctor", "libera"]) == 2
    assert "did you mean libero" in capsys.readouterr().err


@pytest.mark.usefixtures("needs_libero", "quick")
def test_another_version_and_an_absent_library_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.EXACT, "robosuite", "9.9")
    monkeypatch.setattr(doctor, "LIBRARIES_OF_LIBERO", ("numpy", "no-such-library"))
    found = {check.name: check for check in doctor.checks()}
    assert found["robosuite"].detail.startswith("1.4.0, expected 9.9; run: pip install --no-deps")
    assert found["libraries"].detail.startswith("no-such-library not installed; run: pip install")


@pytest.mark.usefixtures("needs_libero", "quick")
def test_a_damaged_initial_state_is_found_though_a_good_copy_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.pruned_init"
    damaged.write_bytes(b"nothing")
    wanted = ("libero-10", "KITCHEN_SCENE8_put_both_moka_pots_on_the_stove")
    monkeypatch.setattr(
        doctor, "original_file", lambda *of: damaged if of == wanted else original_file(*of)
    )
    (check,) = (check for check in doctor.checks() if check.name == "initial states")
    assert not check.ok
    assert f"{damaged} has SHA-256" in check.detail


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("drawing", "variable", "ok", "words"),
    [
        ({"egl", "osmesa"}, "", True, "egl: draws; osmesa: draws; used: osmesa"),
        ({"egl"}, "", False, "osmesa: crashed; run: export MUJOCO_GL=egl"),
        (set(), "", False, "osmesa: crashed; run: apt-get install libosmesa6"),
        (set(), "egl", False, "egl: crashed; run: unset MUJOCO_GL, or apt-get install"),
        ({"egl"}, "egl", True, "egl: draws; used: egl"),
        (set(), "glfw", False, "run: unset MUJOCO_GL"),
    ],
)
def test_the_back_end_that_is_used_must_be_one_that_draws(
    drawing: set[str], variable: str, ok: bool, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        doctor, "probe", lambda one: (one in drawing, "draws" if one in drawing else "crashed")
    )
    monkeypatch.setattr(doctor, "choose_gl", lambda environment: variable or "osmesa")
    if variable:
        monkeypatch.setenv("MUJOCO_GL", variable)
    (check,) = (check for check in doctor.checks() if check.name == "GL")
    assert check.ok is ok
    assert words in check.detail


@pytest.mark.usefixtures("quick")
def test_a_golden_episode_that_differs_fails_with_the_first_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = json.dumps({"steps": 0, "wrong": ["first", "second"], "seen": ""})
    monkeypatch.setattr(doctor, "in_child", lambda code, timeout_s: (True, answer))
    assert doctor._golden().detail.startswith("first (and 1 more); run: pip install")
    monkeypatch.setattr(doctor, "in_child", lambda code, timeout_s: (False, "ended by SIGSEGV"))
    assert doctor._golden() == Check(name="golden episode", ok=False, detail="ended by SIGSEGV")


def test_what_the_child_says_names_the_field_of_the_protocol(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], needs_libero: None
) -> None:
    recorded = golden()
    other = changed(episode.protocol_named(episode.PROTOCOL), seed=3)
    monkeypatch.setattr(episode, "protocol_named", lambda name: other)
    monkeypatch.setattr(episode, "replay", lambda *rest: recorded.outcome)
    doctor.replay()
    assert json.loads(capsys.readouterr().out)["wrong"] == ["protocol seed is 3, recorded 0"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('noise'); print('well')", "noise\nwell"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        ("import os; os._exit(3)", "ended with code 3"),
        ("import sys; sys.exit('phaser: one line')", "one line"),
        ("import time; time.sleep(60)", "no answer within 1 s"),
        ("input()", "EOFError"),
    ],
)
def test_a_child_that_crashes_or_hangs_is_one_line(code: str, said: str) -> None:
    begin = time.monotonic()
    well, words = in_child(code, timeout_s=1 if "sleep" in code else 30)
    assert well is (said == "noise\nwell")
    assert said in words
    assert time.monotonic() - begin < 30


def test_a_library_that_does_not_load_is_not_asked_to_draw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("phaser.suites.gl.loads", lambda backend: False)
    monkeypatch.setattr(looking.subprocess, "run", None)
    assert probe("egl") == (False, "libEGL.so.1 does not load")


def test_what_is_installed_is_what_the_doctor_expects() -> None:
    root = Path(SOURCE).parent
    pinned = (root / "requirements-libero.txt").read_text().splitlines()
    exact = [f"{package}=={doctor.EXACT[package]}" for package in PACKAGES]
    assert [line for line in pinned if not line.startswith("#")] == exact
    assert f"pip install --no-deps {' '.join(exact)}" == INSTALL
    assert INSTALL in runtime.INSTALL
    extra = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    named = extra["optional-dependencies"]["libero"]
    packages = {re.split("[=<>]", requirement)[0] for requirement in named}
    packages -= {"phaser-vla[cli,encoders]"}
    assert packages == {*doctor.LIBRARIES_OF_LIBERO, "mujoco"}
    assert f"mujoco=={doctor.EXACT['mujoco']}" in named
