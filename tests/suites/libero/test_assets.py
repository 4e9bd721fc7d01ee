"""Assets are found where they are complete; a missing file is named before anything is built."""

import shutil
from pathlib import Path

import pytest

from phaser.core.errors import BrokenFile, MissingDependency
from phaser.suites.libero import assets
from phaser.suites.libero.assets import VARIABLE, assets_folder, missing_files

GOAL = "libero-goal"


@pytest.fixture
def copied(needs_libero: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The assets of LIBERO-Goal in a folder of their own, which the user has named."""
    folder = tmp_path / "holds-all" / "goal_assets"
    shutil.copytree(assets_folder(GOAL), folder, copy_function=_link)
    monkeypatch.setenv(VARIABLE, str(folder.parent))
    return folder


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(source)


def test_the_user_s_folder_is_taken_itself_or_by_suite(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert assets_folder(GOAL) == copied
    monkeypatch.setenv(VARIABLE, str(copied))
    assert assets_folder(GOAL) == copied


@pytest.mark.parametrize(
    "file",
    [
        "scenes/libero_tabletop_base_style.xml",
        "stable_scanned_objects/plate/texture.png",
        "turbosquid_objects/wine_bottle/visual/wine_bottle_red_cork_vis.msh",
        "textures/light-gray-plaster.png",
    ],
)
def test_a_missing_file_is_named_in_one_line(copied: Path, file: str) -> None:
    (copied / file).unlink()
    assert missing_files(copied, GOAL) == (file,)
    with pytest.raises(MissingDependency) as raised:
        assets_folder(GOAL)
    assert f"libero-goal lacks {file} in {copied}" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_is_only_declared_may_be_absent(copied: Path) -> None:
    declared = copied / "articulated_objects" / "flat_stove.xml"
    assert "button_dark_texture.png" in declared.read_text()
    assert not (declared.parent / "flat_stove" / "button_dark_texture.png").exists()
    assert missing_files(copied, GOAL) == ()


def test_a_damaged_description_is_named(copied: Path) -> None:
    path = copied / "stable_scanned_objects" / "plate" / "plate.xml"
    path.unlink()
    path.write_text("<mujoco><asset>")
    with pytest.raises(BrokenFile, match=r"plate\.xml is no XML"):
        assets_folder(GOAL)


def test_without_any_assets_the_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(assets, "package_folder", lambda: tmp_path)
    with pytest.raises(MissingDependency, match=f"set {VARIABLE} to a folder"):
        assets_folder("libero-spatial")


def test_without_libero_one_line_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match="run: pip install --no-deps hf-libero"):
        assets_folder(GOAL)
