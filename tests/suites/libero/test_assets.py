"""Assets are found where they are complete; a missing file is named before anything is built."""

import shutil
from pathlib import Path

import pytest
from made_files import assets_of, written

from phaser.core.errors import BadInput, BrokenFile, MissingDependency
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


def test_folders_are_searched_in_order_and_the_first_complete_one_is_taken(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = assets_of(GOAL)
    package = written(tmp_path / "package" / "assets", files)
    monkeypatch.setattr(assets, "package_folder", lambda: package.parent)
    assert assets_folder(GOAL) == package
    fetched = written(cache / "assets", files)
    assert assets_folder(GOAL) == fetched
    named = written(tmp_path / "named", files)
    monkeypatch.setenv(VARIABLE, str(named))
    assert assets_folder(GOAL) == named
    (named / "scenes" / "vis.msh").unlink()
    assert assets_folder(GOAL) == fetched


def test_a_folder_that_is_named_and_not_there_is_a_mistake(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(cache / "assets", assets_of(GOAL))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "typo"))
    with pytest.raises(BadInput, match=f"{VARIABLE} names .*typo, which is no folder"):
        assets_folder(GOAL)


def test_without_any_assets_the_command_and_the_variable_are_named(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "package_folder", lambda: tmp_path)
    with pytest.raises(MissingDependency, match=f"set {VARIABLE} to a folder") as raised:
        assets_folder("libero-spatial")
    assert "; run: phaser libero fetch --suites libero-spatial, or" in str(raised.value)


def test_no_folder_of_one_machine_is_looked_into() -> None:
    sources = Path(assets.__file__).parents[2].rglob("*.py")
    assert not [path for path in sources if "shared/libero" in path.read_text()]


def test_without_libero_one_line_installs_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match="run: pip install --no-deps hf-libero"):
        assets_folder(GOAL)
