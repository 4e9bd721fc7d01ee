"""Every library of an extra is named in the one line that says what to install."""

import re
import tomllib
from pathlib import Path

import pytest

from phaser.core.errors import MissingDependency
from phaser.core.extras import EXTRAS, install_line, libraries_for

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ASKED = PROJECT["optional-dependencies"]
IMPORTED_LATE_BY_THEIR_OWN_DOCTOR = "libero"
FOR_OURSELVES = ("dev", "docs", "bench", "all")


def brought_by(extra: str) -> set[str]:
    """The libraries that an extra brings itself, by the names under which they are imported."""
    named = (re.split(r"[\[=<>]", one)[0] for one in ASKED[extra])
    return {name.replace("-", "_") for name in named} - {"phaser_vla", "torch"}


def test_the_extra_that_is_named_brings_the_library() -> None:
    wrong = {
        library: extra
        for library, extra in EXTRAS.items()
        if library not in brought_by(extra) and library != "gymnasium"
    }
    assert not wrong
    # Meta-World asks for it itself.
    assert EXTRAS["gymnasium"] == "metaworld"


def test_every_library_of_an_extra_has_its_line() -> None:
    extras = ASKED.keys() - {*FOR_OURSELVES, IMPORTED_LATE_BY_THEIR_OWN_DOCTOR}
    assert set().union(*map(brought_by, extras)) <= EXTRAS.keys()


def test_all_brings_every_extra_but_those_with_versions_of_their_own() -> None:
    (everything,) = ASKED["all"]
    named = set(everything.partition("[")[2].rstrip("]").split(","))
    assert named == ASKED.keys() - {*FOR_OURSELVES, "lerobot", "libero"}


def test_no_line_of_ours_names_an_extra_that_is_not_there() -> None:
    pages = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {
        extra
        for page in pages
        for group in re.findall(r"phaser-vla\[([a-z0-9,-]+)\]", page.read_text())
        for extra in group.split(",")
    }
    assert "vlm" in named
    assert named <= ASKED.keys()


def test_a_missing_library_becomes_one_line() -> None:
    assert install_line("openai") == "pip install 'phaser-vla[vlm]'"
    said = r"^videos need av, .*run: pip .*\[video\]'$"
    with pytest.raises(MissingDependency, match=said), libraries_for("videos"):
        raise ModuleNotFoundError("no av", name="av.codec")


def test_a_module_of_no_extra_stays_a_bug() -> None:
    with pytest.raises(ModuleNotFoundError, match="no such part"), libraries_for("videos"):
        raise ModuleNotFoundError("no such part", name="phaser.nowhere")
