"""A mistake with datasets gives one line on standard error and exit code 2."""

import shlex

import numpy as np
import pytest
from made_datasets import write_robomimic, write_v2
from made_sources import write_hdf5

from phaser.cli import main


@pytest.fixture
def one_line(capsys, tmp_path, monkeypatch):
    """Runs a command inside a folder with made sources; returns the one line it ends with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "cache"))

    def run(words):
        assert main.execute(shlex.split(words)) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.count("\n") == 1
        assert shown.err.startswith("phaser: ")
        return shown.err

    return run


def test_no_sources(one_line, tmp_path):
    for verb in ("run", "grid", "record"):
        assert "--suite.sources a.hdf5 b/ c/" in one_line(f"{verb} datasets")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_not_there(one_line):
    line = one_line("run datasets --suite.sources nowhere.hdf5 --suite.layout metaworld")
    assert "nowhere.hdf5 does not exist; expected an HDF5 file or a LeRobot folder" in line


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--suite.layout metaword", "did you mean metaworld"),
        ("", "does not say which action dimensions move the arm"),
        ("--suite.layout libero", "has actions of 4 numbers, the layout expects 7"),
        ("--suite.layout metaworld --suite.motion 0", "give one of them"),
        ("--suite.gripper 3", "give --suite.motion as well"),
        ("--suite.motion 0 9", "expected some of 0 to 3"),
        (
            "--suite.layout metaworld --suite.heldout-share 0",
            "heldout_share 0.0; expected a number above 0 and below 1",
        ),
        ("--suite.layout metaworld --suite.heldout-share 1", "above 0 and below 1, such as 0.1"),
        ("--suite.layout metaworld --suite.cameras side", "has no camera 'side'; it has front"),
        ("--suite.layout metaworld --suite.turns upside-down", "unknown image turn"),
        ("--suite.layout metaworld --suite.order backwards", "unknown task order 'backwards'"),
        ("--suite.layout metaworld --suite.instructions a b", "2 instructions for 1 sources"),
        ("--suite.layout metaworld --suite.state-keys obs/nothing", "lacks obs/nothing"),
        ("--suite.layout metaworld --suite.sources mug.hdf5 mug.hdf5", "named twice"),
    ],
)
def test_settings_that_do_not_fit(one_line, tmp_path, flags, expected):
    write_hdf5(tmp_path / "mug.hdf5")
    assert expected in one_line(f"run datasets --suite.sources mug.hdf5 {flags}")
    assert not (tmp_path / "runs").exists()


def test_one_instruction_for_a_source_that_has_two(one_line, tmp_path):
    write_v2(tmp_path / "drawer", [20, 22, 24, 21], version="v2.0", video=False)
    line = one_line(
        "run datasets --suite.sources drawer --suite.layout metaworld --suite.instructions 'do it'"
    )
    assert "drawer holds 2 instructions ('pull the drawer open', 'push the drawer shut')" in line
    assert "one was given for it: 'do it'; give it '' instead" in line


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"cameras": ("side",)}, "no camera in common"),
        ({"cameras": ()}, "other.hdf5 has no images"),
        ({"action_size": 5}, "other.hdf5 has actions of 5 numbers"),
        ({"state_size": 6}, "other.hdf5 has states of 6 numbers"),
        ({"side": 32}, "give one size to which all are resized, such as --suite.image-size"),
        ({"convention": "opengl"}, "stores images upside down (OpenGL)"),
        ({"lengths": (9,)}, "holds 1 demonstration of"),
        ({"lengths": (9, 1)}, "demonstration 1 has 1 frame; expected at least 3; remove it"),
    ],
)
def test_sources_that_disagree_or_are_too_short(one_line, tmp_path, other, expected):
    write_hdf5(tmp_path / "mug.hdf5")
    write_hdf5(tmp_path / "other.hdf5", **other)
    words = "run datasets --suite.sources mug.hdf5 other.hdf5 --suite.motion 0 1 2"
    assert expected in one_line(words)


def test_an_episode_of_one_frame_in_a_lerobot_folder(one_line, tmp_path):
    write_v2(tmp_path / "drawer", [20, 22, 24, 1], version="v2.1", video=False)
    line = one_line("run datasets --suite.sources drawer --suite.layout metaworld")
    assert "drawer: demonstration 3 has 1 frame; expected at least 2; remove it" in line


def test_a_file_that_is_neither(one_line, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    for name in ("notes.txt", "empty"):
        line = one_line(f"run datasets --suite.sources {name} --suite.layout metaworld")
        assert "is none of these; expected an HDF5 file" in line


def test_demonstrations_without_images_for_a_policy_that_sees(one_line, tmp_path):
    write_hdf5(tmp_path / "blind.hdf5", cameras=())
    line = one_line("run datasets --suite.sources blind.hdf5 --suite.layout metaworld")
    assert "the tiny policy sees through cameras, but the demonstrations have no images" in line


def test_the_other_grippers_convention_is_refused(one_line, tmp_path):
    import h5py

    write_robomimic(tmp_path / "square.hdf5")
    with h5py.File(tmp_path / "square.hdf5", "a") as file:
        for demo in file["data"].values():
            demo["actions"][:, 6] = np.arange(len(demo["actions"])) % 2
    line = one_line("run datasets --suite.sources square.hdf5 --suite.layout libero")
    assert "commands its gripper with 0 and 1" in line
