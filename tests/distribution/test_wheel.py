"""The wheel that strangers install: complete, and content with what it asks for."""

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from empty_environment import EmptyEnvironment
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def build(tree: Path, kind: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made of the sdist, not of the checkout: both must be complete."""
    folder = tmp_path_factory.mktemp("distribution")
    sdist = build(ROOT, "sdist", folder / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "tree", filter="data")
    return build(next((folder / "tree").iterdir()), "wheel", folder / "wheel")


@pytest.fixture(scope="module")
def asked(wheel: Path) -> list[Requirement]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(one for one in archive.namelist() if one.endswith("/METADATA"))
        return [
            Requirement(one)
            for one in message_from_bytes(archive.read(name)).get_all("Requires-Dist")
        ]


def of_extra(asked: list[Requirement], extra: str) -> list[str]:
    """What the wheel asks for with one extra, and the rest without any."""
    chosen = [one for one in asked if one.marker is None or one.marker.evaluate({"extra": extra})]
    return [f"{one.name}{one.specifier}" for one in chosen]


@pytest.fixture(scope="module")
def plain(
    wheel: Path, asked: list[Requirement], tmp_path_factory: pytest.TempPathFactory
) -> EmptyEnvironment:
    environment = EmptyEnvironment(tmp_path_factory.mktemp("plain"))
    environment.install(wheel)
    environment.link(of_extra(asked, ""))
    return environment


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    ours = {
        path.relative_to(ROOT / "src").as_posix()
        for package in ("phaser", "phaser_vla")
        for path in (ROOT / "src" / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert not ours - held
    assert "phaser/py.typed" in held


def test_a_plain_install_asks_for_what_replay_needs(asked: list[Requirement]) -> None:
    plainly = {one.name for one in asked if one.marker is None}
    assert plainly == {"jaxtyping", "numpy", "pillow", "torch"}


def test_a_plain_install_shows_its_help(plain: EmptyEnvironment, tmp_path: Path) -> None:
    done = plain.run("phaser", "--help", folder=tmp_path)
    assert done.stdout.startswith("usage: phaser VERB")


def test_the_code_of_the_readme_runs(plain: EmptyEnvironment, tmp_path: Path) -> None:
    code = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    done = plain.run("python", "-W", "error", "-c", code, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "memory" / "manifest.json").exists()


def test_segment_names_its_extra_and_runs_with_it(
    plain: EmptyEnvironment, asked: list[Requirement], tmp_path: Path
) -> None:
    dataset = str(ROOT / "tests" / "fixtures" / "lerobot_v3")
    words = ["phaser", "segment", dataset, "--layout", "metaworld", "--out", "stage_info.json"]
    done = plain.run(*words, folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith("run: pip install 'phaser-vla[cli]'\n")
    plain.link(of_extra(asked, "cli"))
    done = plain.run(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "stage_info.json").exists()
