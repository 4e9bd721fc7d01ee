"""What is missing or broken of LIBERO is one line and an exit code, never a hang or a traceback."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest

from phaser.cli import main
from phaser.suites.libero import assets, doctor
from phaser.suites.libero.assets import VARIABLE, assets_folder
from phaser.suites.libero.init_states import original_file

SOURCE = Path(__file__).parents[3] / "src"
TIMEOUT_S = 120
TASK = "open_the_middle_drawer_of_the_cabinet"
PLATE = "stable_scanned_objects/plate/visual/model_vis.msh"


@pytest.fixture(autouse=True)
def _limited(needs_libero: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time limit, and a cache and a home of our own."""

    def ring(*_: object) -> None:
        raise TimeoutError(f"no end within {TIMEOUT_S} s")

    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(TIMEOUT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that `phaser record libero-goal` ends with, before it records anything."""
    assert main.execute(["record", "libero-goal"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("phaser: ")


def test_libero_that_is_not_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "libero" else found(name))
    assert line_of(capsys).startswith("hf-libero is not installed; run: pip install")


def test_a_missing_asset(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "assets"
    shutil.copytree(assets_folder("libero-goal"), folder, copy_function=_link)
    (folder / PLATE).unlink()
    monkeypatch.setenv(VARIABLE, str(folder))
    assert line_of(capsys).startswith(f"libero-goal lacks {PLATE} in {folder}; ")
    monkeypatch.setattr(doctor, "probe", lambda backend: (True, "draws"))
    assert main.execute(["doctor", "libero"]) == 1
    lines = capsys.readouterr().out.splitlines()
    failed = [line for line in lines if line.startswith("missing")]
    assert [line.split("  ")[1] for line in failed] == ["assets libero-goal", "golden episode"]
    assert all(f"lacks {PLATE}" in line for line in failed)


def test_a_corrupt_initial_state(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "libero"
    shutil.copytree(assets.package_folder(), package, copy_function=_link)
    monkeypatch.setattr("phaser.suites.libero.init_states.package_folder", lambda: package)
    broken = original_file("libero-goal", TASK)
    content = broken.read_bytes()
    broken.unlink()
    broken.write_bytes(content[:1000])
    line = line_of(capsys)
    assert line.startswith(f"{broken} has SHA-256")
    assert line.endswith("--force-reinstall")


def without_gl(folder: Path, *words: str, chosen: str) -> subprocess.CompletedProcess[str]:
    """Libraries are looked up when a process starts, so this one runs in another."""
    for name in ("libOSMesa.so.8", "libEGL.so.1"):
        (folder / name).write_text("no library")
    return subprocess.run(
        [sys.executable, "-m", "phaser.cli", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, "LD_LIBRARY_PATH": str(folder), "MUJOCO_GL": chosen},
    )


def test_a_gl_library_that_does_not_load(tmp_path: Path) -> None:
    done = without_gl(tmp_path, "record", "libero-goal", chosen="osmesa")
    assert done.returncode == 2
    assert done.stderr.startswith("phaser: MUJOCO_GL=osmesa but libOSMesa.so.8 does not load; ")
    assert len(done.stderr.splitlines()) == 1


def test_no_gl_library_at_all(tmp_path: Path) -> None:
    done = without_gl(tmp_path, "doctor", "libero", chosen="")
    assert done.returncode == 1, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("missing  GL"))
    assert "egl: libEGL.so.1 does not load; osmesa: libOSMesa.so.8 does not load" in line
    assert line.endswith("run: apt-get install libosmesa6")
    assert "missing  golden episode" in done.stdout


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(source)
