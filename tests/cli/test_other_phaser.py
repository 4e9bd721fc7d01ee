"""`pip install phaser` brings an unrelated package: the command and the doctor say so."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASK = "import phaser_vla; print(phaser_vla.trouble())"
RUN = "import phaser_vla; phaser_vla.main()"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages with our command and our distribution."""
    folder = tmp_path / "site"
    shutil.copytree(ROOT / "src" / "phaser_vla", folder / "phaser_vla")
    add_distribution(folder, "phaser_vla", "phaser-vla", files=["phaser_vla/__init__.py"])
    return folder


def add_distribution(site: Path, stem: str, name: str, *, files: list[str]) -> None:
    info = site / f"{stem}-0.3.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.3\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def add_other(site: Path) -> None:
    (site / "phaser").mkdir(exist_ok=True)
    (site / "phaser" / "__init__.py").write_text("raise RuntimeError('pipelines')\n")
    add_distribution(site, "phaser", "phaser", files=["phaser/__init__.py"])


def asked(code: str, *path: Path, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-S", "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(map(str, path)), "PYTHONUTF8": "1"},
    )


def test_our_package_alone_is_well(site: Path) -> None:
    assert asked(ASK, site, ROOT / "src").stdout == "None\n"


def test_another_package_in_front_of_a_checkout_is_named_with_its_file(site: Path) -> None:
    add_other(site)
    done = asked(RUN, site, ROOT / "src", arguments=("doctor",))
    assert done.returncode == 2
    assert done.stderr == (
        f"phaser: {site}/phaser/__init__.py is of phaser 0.3, an unrelated package, and hides "
        "PHASER's; run: pip uninstall --yes phaser\n"
    )


def test_another_package_written_over_ours_asks_to_install_ours_again(site: Path) -> None:
    (site / "phaser_vla-0.3.dist-info" / "RECORD").write_text("phaser/__init__.py,,\n")
    add_other(site)
    done = asked(RUN, site, arguments=("methods",))
    assert done.returncode == 2
    assert done.stderr.endswith(
        "run: pip uninstall --yes phaser && pip install --force-reinstall --no-deps phaser-vla\n"
    )


def test_ours_written_over_another_is_told_although_it_works(site: Path) -> None:
    (site / "phaser_vla-0.3.dist-info" / "RECORD").write_text("phaser/__init__.py,,\n")
    add_other(site)
    shutil.copy(ROOT / "src" / "phaser" / "__init__.py", site / "phaser" / "__init__.py")
    said = asked(ASK, site).stdout
    assert said.startswith(f"PHASER's {site}/phaser/__init__.py has overwritten that of phaser 0.3")


def test_ours_in_front_of_another_names_both_files(site: Path) -> None:
    add_other(site)
    said = asked(ASK, ROOT / "src", site).stdout
    assert f"PHASER's {ROOT}/src/phaser/__init__.py hides {site}/phaser/__init__.py of" in said
    assert said.endswith("run: pip uninstall --yes phaser\n")


def test_a_package_that_is_gone_is_told(site: Path) -> None:
    assert "run: pip install --force-reinstall phaser-vla" in asked(ASK, site).stdout


def test_the_command_runs_our_verbs_where_all_is_well(site: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--version"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1"},
    )
    assert done.stdout.startswith("phaser 0."), done.stderr


def test_the_doctor_has_a_line_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import phaser_vla
    from phaser.cli import doctor

    assert doctor._package().ok
    monkeypatch.setattr(phaser_vla, "trouble", lambda: "another; run: pip uninstall --yes phaser")
    assert doctor._package().detail.endswith("pip uninstall --yes phaser")
    assert not doctor._package().ok
