"""`phaser libero fetch --from FOLDER`: a checkout, an assets folder or HDF5 files, and no hub."""

import shutil
import sys
from pathlib import Path

import pytest
from fetching import GOAL, PLATE, Said, fetch, refusal
from made_files import assets_of, demonstrations_of, read, written

from phaser.core.errors import MissingDependency
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.published import demonstrations_folder


@pytest.fixture(autouse=True)
def _no_hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)


@pytest.mark.parametrize("place", [".", "assets", "libero/libero/assets", "goal_assets"])
def test_assets_are_found_below_a_folder_and_copied(
    place: str, cache: Path, tmp_path: Path
) -> None:
    goal = assets_of("libero-goal")
    folder = written(tmp_path / "mine", {f"{place}/{path}": goal[path] for path in goal})
    assert fetch("--from", str(folder), *GOAL) == 0
    assert read(cache / "assets") == goal
    assert assets_folder("libero-goal") == (cache / "assets").resolve()


def test_folders_of_single_suites_become_one(cache: Path, tmp_path: Path) -> None:
    goal, long = assets_of("libero-goal"), assets_of("libero-10")
    folder = written(tmp_path / "mine" / "goal_assets", goal).parent
    written(folder / "long_assets", long)
    assert fetch("--from", str(folder)) == 0
    assert read(cache / "assets") == {**long, **goal}


def test_without_names_the_suites_that_are_complete_are_copied(
    cache: Path, tmp_path: Path, capsys: Said
) -> None:
    files = assets_of("libero-goal", "libero-object")
    del files["stable_scanned_objects/basket/vis.msh"]
    folder = written(tmp_path / "mine", files)
    assert fetch("--from", str(folder)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "assets of libero-goal: " in lines[0]
    basket = "assets of libero-object lack stable_scanned_objects/basket/vis.msh"
    assert f"left out: {basket}" in lines
    assert set(read(cache / "assets")) < set(files)


def test_a_suite_that_is_named_must_be_complete(cache: Path, tmp_path: Path, capsys: Said) -> None:
    files = assets_of("libero-goal")
    del files[PLATE]
    folder = written(tmp_path / "mine", files)
    assert f"assets of libero-goal lack {PLATE}" in refusal(capsys, "--from", str(folder), *GOAL)
    assert "holds no suite completely" in refusal(capsys, "--from", str(folder))
    assert "is no folder" in refusal(capsys, "--from", str(folder / "nowhere"))
    assert not cache.exists()


@pytest.mark.parametrize(
    "place", ["libero_goal", "libero-goal", ".", "libero/datasets/libero_goal"]
)
def test_a_folder_of_nothing_but_demonstrations_needs_no_assets(
    place: str, cache: Path, tmp_path: Path, capsys: Said
) -> None:
    files = {Path(path).name: content for path, content in demonstrations_of("libero-goal").items()}
    folder = written(tmp_path / "mine", {f"{place}/{name}": files[name] for name in files})
    with pytest.raises(MissingDependency) as raised:
        demonstrations_folder("libero-goal")
    (mend,) = str(raised.value).split("run: phaser libero fetch ")[1:]
    assert mend.split() == ["--demonstrations", *GOAL]
    assert fetch("--from", str(folder), *mend.split()) == 0
    assert read(demonstrations_folder("libero-goal")) == files
    assert not (cache / "assets").exists()
    words = ("--from", str(folder), "--demonstrations", "--suites", "libero-goal", "libero-long")
    assert "demonstrations of libero-10 lack LIVING_ROOM_SCENE2_put" in refusal(capsys, *words)


def test_what_is_there_is_not_copied_again_and_what_differs_is(
    cache: Path, tmp_path: Path, capsys: Said
) -> None:
    folder = written(tmp_path / "mine", assets_of("libero-goal"))
    assert fetch("--from", str(folder)) == 0
    plate = cache / "assets" / PLATE
    bowl = plate.parents[1] / "akita_black_bowl" / "vis.msh"
    plate.write_bytes(b"!" * plate.stat().st_size)
    kept = bowl.stat().st_ino
    capsys.readouterr()
    assert fetch("--from", str(folder)) == 0
    assert "to fetch: 1 file, 2.0 kB" in capsys.readouterr().out
    assert plate.read_bytes() == (folder / PLATE).read_bytes()
    assert bowl.stat().st_ino == kept


def test_links_are_copied_as_the_files_that_they_lead_to(cache: Path, tmp_path: Path) -> None:
    stored = written(tmp_path / "stored", assets_of("libero-goal"))
    linked = tmp_path / "linked"
    shutil.copytree(stored, linked, copy_function=lambda old, new: Path(new).symlink_to(old))
    assert fetch("--from", str(linked)) == 0
    assert not [path for path in (cache / "assets").rglob("*") if path.is_symlink()]
    assert read(cache / "assets") == assets_of("libero-goal")


def test_a_clone_without_its_large_files_and_a_false_hdf5_are_refused(
    cache: Path, tmp_path: Path, capsys: Said
) -> None:
    clone = written(tmp_path / "clone", assets_of("libero-goal"))
    (clone / PLATE).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    assert "run there: git lfs pull" in refusal(capsys, "--from", str(clone))
    false = written(tmp_path / "false", dict.fromkeys(demonstrations_of("libero-goal"), b"text"))
    assert "is no HDF5 file" in refusal(capsys, "--from", str(false), "--demonstrations")
    assert not list(cache.rglob("*.hdf5"))


def test_nothing_to_fetch_and_an_unknown_suite_are_refused(capsys: Said, tmp_path: Path) -> None:
    assert "add --demonstrations" in refusal(capsys, "--from", str(tmp_path), "--no-assets")
    assert "did you mean libero-goal" in refusal(capsys, "--suites", "libero-gaol")
