"""One function opens every kind of source; what an action means is never guessed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from made_datasets import INSTRUCTIONS, write_libero, write_robomimic, write_v2, write_v3

from phaser.core.demonstration import ActionLayout
from phaser.core.errors import BadInput, BrokenFile, UnknownName
from phaser.demos.layouts import LAYOUTS
from phaser.demos.lerobot_layout import Shapes, Sidecar
from phaser.demos.lerobot_writer import Episode, write_dataset
from phaser.demos.open_files import OpenFiles
from phaser.demos.opening import open_demos


def test_a_folder_of_files_is_one_source_with_a_task_for_each(tmp_path: Path) -> None:
    write_libero(tmp_path / "b.hdf5")
    write_robomimic(tmp_path / "a.h5")
    (tmp_path / "README.md").write_text("not a demonstration")
    opened = open_demos(tmp_path, layout="libero")
    assert opened.kind == "HDF5"
    assert [task.name for task in opened.tasks] == ["NutAssemblySquare", "open_the_middle_drawer"]
    assert [len(opened.demos(task)) for task in opened.tasks] == [2, 2]
    assert [demo.index for demo in opened.demos(opened.tasks[0])] == [2, 10]
    assert opened.demos(opened.tasks[1])[-1].num_frames == 3
    assert opened.all_demos[1:][0].index == 10
    assert opened.all_demos[0].layout == LAYOUTS["libero"].layout


@pytest.mark.parametrize("version", ["v2.0", "v2.1", "v3.0"])
def test_a_lerobot_dataset_is_recognised_by_its_version(tmp_path: Path, version: str) -> None:
    if version == "v3.0":
        write_v3(tmp_path / "set", (3, 4, 5))
    else:
        write_v2(tmp_path / "set", (3, 4, 5), version=version, video=False)
    opened = open_demos(tmp_path / "set", layout="metaworld")
    assert opened.kind == f"LeRobot {version}"
    assert [task.instruction for task in opened.tasks] == list(INSTRUCTIONS)
    assert [demo.num_frames for demo in opened.demos(opened.tasks[0])] == [3, 5]


def test_the_sidecar_says_the_layout_and_a_given_one_wins(tmp_path: Path) -> None:
    shapes = Shapes(
        fps=10, robot_type="x", state_names=("x",), action_names=("dx", "grip"), cameras={}
    )
    sidecar = Sidecar(
        layout=ActionLayout(motion=(0,), gripper=(1,)), task_names={"pull": "drawer-open"}
    )
    pulled = Episode(
        instruction="pull",
        actions=np.zeros((3, 2), np.float32),
        states=np.zeros((3, 1), np.float32),
        images={},
    )
    write_dataset(tmp_path / "set", [pulled], shapes=shapes, sidecar=sidecar)
    opened = open_demos(tmp_path / "set")
    assert (opened.tasks[0].name, opened.tasks[0].instruction) == ("drawer-open", "pull")
    assert opened.all_demos[0].layout == sidecar.layout
    other = ActionLayout(motion=(0, 1), gripper=(), convention="absolute")
    assert open_demos(tmp_path / "set", layout=other).all_demos[0].layout == other


def test_without_a_layout_nothing_is_guessed(tmp_path: Path) -> None:
    write_libero(tmp_path / "a.hdf5")
    write_v2(tmp_path / "set", (3,), version="v2.1", video=False)
    for source in (tmp_path / "a.hdf5", tmp_path / "set"):
        with pytest.raises(BadInput, match="give layout=, an ActionLayout or a name: aloha"):
            open_demos(source)


def test_a_layout_that_does_not_fit_the_actions_is_refused(tmp_path: Path) -> None:
    write_libero(tmp_path / "a.hdf5")
    with pytest.raises(BadInput, match="7 numbers, the layout expects 4"):
        open_demos(tmp_path / "a.hdf5", layout="metaworld").all_demos[0]
    outside = ActionLayout(motion=(0, 7), gripper=(6,))
    with pytest.raises(BadInput, match="expected some of 0 to 6"):
        open_demos(tmp_path / "a.hdf5", layout=outside).all_demos[0]
    with pytest.raises(UnknownName, match="did you mean libero"):
        open_demos(tmp_path / "a.hdf5", layout="Libero")


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_named_layout_uses_every_dimension_once(name: str) -> None:
    named = LAYOUTS[name]
    assert sorted(named.layout.motion + named.layout.gripper) == list(range(named.size))


def test_images_are_turned_on_request_only(tmp_path: Path) -> None:
    write_libero(tmp_path / "a.hdf5")
    with h5py.File(tmp_path / "a.hdf5") as file:
        stored = file["data/demo_0/obs/agentview_rgb"][2]
    expected = {
        "as-stored": stored,
        "flip-vertical": stored[::-1],
        "flip-horizontal": stored[:, ::-1],
        "rotate-180": stored[::-1, ::-1],
    }
    for turn, pixels in expected.items():
        opened = open_demos(tmp_path / "a.hdf5", layout="libero", turn=turn)
        images = opened.all_demos[0].cameras["agentview_rgb"]
        assert np.array_equal(images.read([2])[0], pixels)
        assert len(images) == 5
        assert any("upside down" in remark for remark in opened.remarks) == (turn == "as-stored")
    with pytest.raises(UnknownName, match="image turn"):
        open_demos(tmp_path / "a.hdf5", layout="libero", turn="upright")


def test_the_same_demonstration_in_two_files_is_refused(tmp_path: Path) -> None:
    write_libero(tmp_path / "a.hdf5")
    shutil.copy(tmp_path / "a.hdf5", tmp_path / "b.hdf5")
    with pytest.raises(BadInput, match="twice"):
        open_demos(tmp_path, layout="libero")


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(BadInput, match="does not exist"):
        open_demos(tmp_path / "nothing", layout="libero")
    for source in (tmp_path, tmp_path / "a.txt"):
        with pytest.raises(BadInput, match="is none of these"):
            open_demos(source, layout="libero")
    write_v3(tmp_path / "set", (3, 3))
    with pytest.raises(BadInput, match="names its own"):
        open_demos(tmp_path / "set", layout="metaworld", instruction="push")


def test_opening_reads_no_demonstration(tmp_path: Path) -> None:
    write_v2(tmp_path / "set", (3, 4), version="v2.1", video=False)
    (tmp_path / "set/data/chunk-000/episode_000001.parquet").unlink()
    opened = open_demos(tmp_path / "set", layout="metaworld")
    assert opened.all_demos[0].num_frames == 3
    with pytest.raises(BrokenFile, match="does not exist"):
        opened.all_demos[1]


def test_importing_the_readers_imports_neither_av_nor_h5py() -> None:
    source = str(Path(__file__).parents[2] / "src")
    code = "import sys, phaser.demos.opening; print(*({'av', 'h5py'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": source}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


class _Noted:
    """A handle that notes when it is closed."""

    def __init__(self, path: Path, closed: list[str]) -> None:
        self.name, self.closed = path.name, closed

    def close(self) -> None:
        self.closed.append(self.name)


def test_the_file_unused_for_longest_is_closed_and_a_failed_one_is_reopened(
    tmp_path: Path,
) -> None:
    closed: list[str] = []
    opened = OpenFiles(lambda path: _Noted(path, closed), limit=2)
    for name in "abc":
        (tmp_path / name).write_text(name)
    for name in "abac":
        with opened.borrowed(tmp_path / name) as handle:
            assert handle.name == name
    assert closed == ["b"]
    with pytest.raises(ValueError, match="broken"), opened.borrowed(tmp_path / "a"):
        raise ValueError("broken")
    assert closed == ["b", "a"]
    opened.close_all()
    assert closed == ["b", "a", "c"]
