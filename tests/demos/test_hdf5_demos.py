"""LIBERO and robomimic files are read frame by frame; files that point elsewhere are refused."""

from __future__ import annotations

import builtins
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from made_datasets import write_libero, write_robomimic

from phaser.core.demonstration import ActionLayout, Task
from phaser.core.errors import BadInput, BrokenFile, MissingDependency
from phaser.demos import hdf5_guard
from phaser.demos.hdf5 import open_hdf5

LAYOUT = ActionLayout(motion=tuple(range(6)), gripper=(6,))


@pytest.fixture
def libero(tmp_path: Path) -> Path:
    write_libero(tmp_path / "open_the_middle_drawer_demo.hdf5")
    return tmp_path / "open_the_middle_drawer_demo.hdf5"


def read_all(path: Path) -> None:
    file = open_hdf5(path)
    for episode in file.episodes:
        for images in file.demo(episode, LAYOUT).cameras.values():
            images.read(range(len(images)))


def test_a_libero_file_is_read_as_it_is_stored(libero: Path) -> None:
    file = open_hdf5(libero)
    assert file.state_keys == ("obs/ee_states", "obs/gripper_states")
    assert file.image_convention == "opengl"
    task = Task(name="open_the_middle_drawer", instruction="open the middle drawer")
    assert [(episode.index, episode.task) for episode in file.episodes] == [(0, task), (1, task)]
    with h5py.File(libero) as stored:
        for episode in file.episodes:
            demo = file.demo(episode, LAYOUT)
            source = stored[f"data/demo_{episode.index}"]
            assert np.array_equal(demo.actions, source["actions"][:])
            assert np.array_equal(demo.states[:, :6], source["obs/ee_states"][:])
            assert np.array_equal(demo.states[:, 6:], source["obs/gripper_states"][:])
            assert set(demo.cameras) == {"agentview_rgb", "eye_in_hand_rgb"}
            pixels = source["obs/agentview_rgb"][:]
            assert np.array_equal(demo.cameras["agentview_rgb"].read([2, 0, 2]), pixels[[2, 0, 2]])


def test_a_file_with_actions_and_states_only_is_read(tmp_path: Path) -> None:
    write_libero(tmp_path / "a.hdf5", images=False)
    file = open_hdf5(tmp_path / "a.hdf5")
    demo = file.demo(file.episodes[1], LAYOUT)
    assert file.state_keys == ("states",)
    assert demo.states.shape == (3, 79)
    assert demo.cameras == {}


def test_the_state_can_be_chosen(libero: Path) -> None:
    file = open_hdf5(libero, state_keys=["states", "obs/ee_states"])
    assert file.demo(file.episodes[0], LAYOUT).states.shape == (5, 85)
    with pytest.raises(BadInput, match="lacks obs/joint_states"):
        open_hdf5(libero, state_keys=["obs/joint_states"])


def test_a_robomimic_file_is_read_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    write_robomimic(tmp_path / "image.hdf5")
    file = open_hdf5(tmp_path / "image.hdf5")
    assert [episode.index for episode in file.episodes] == [2, 10]
    assert file.episodes[0].task == Task(
        name="NutAssemblySquare", instruction="nut assembly square"
    )
    demo = file.demo(file.episodes[1], LAYOUT)
    assert demo.states.shape == (4, 9)
    assert demo.cameras["agentview_image"].read([3]).shape == (1, 4, 4, 3)


def _set(path: Path, **attributes: Any) -> None:
    with h5py.File(path, "r+") as file:
        for name in list(file["data"].attrs):
            del file["data"].attrs[name]
        for name, value in attributes.items():
            file["data"].attrs[name] = value


@pytest.mark.parametrize(
    ("attributes", "name", "words"),
    [
        ({"bddl_file_content": "(define (:language Put it (x)"}, None, None),
        ({"bddl_file_content": "(define (:language Put it on top) (x))"}, "Put it on top", None),
        ({"problem_info": json.dumps({"language_instruction": ["put", "it"]})}, "put it", None),
        ({"problem_info": '{"language_instruction": "\\"put it\\""}'}, "put it", None),
        ({"env": "TwoArmPegInHole"}, "TwoArmPegInHole", "two arm peg in hole"),
        ({"env_args": '{"env_name": "Lift", "env_lang": "lift the cube"}'}, "lift the cube", None),
        ({"bddl_file_name": "a/KITCHEN_x.bddl", "env": "Lift"}, "KITCHEN_x", "lift"),
        ({"bddl_file_name": "C:\\x\\..\\y.bddl", "env": "Lift"}, "y", "lift"),
        ({}, None, None),
    ],
)
def test_the_task_is_what_the_recorder_wrote(
    libero: Path, attributes: dict[str, str], name: str | None, words: str | None
) -> None:
    _set(libero, **attributes)
    if name is None:
        with pytest.raises(BadInput, match="give the instruction"):
            open_hdf5(libero)
        task = open_hdf5(libero, instruction="open it").episodes[0].task
        assert task == Task(name="open it", instruction="open it")
    else:
        assert open_hdf5(libero).episodes[0].task == Task(name=name, instruction=words or name)


def test_a_demonstration_may_carry_its_own_instruction(libero: Path) -> None:
    with h5py.File(libero, "r+") as file:
        del file["data"].attrs["bddl_file_name"]
        file["data/demo_1"].attrs["ep_meta"] = json.dumps({"lang": "close the lid"})
    tasks = [episode.task.name for episode in open_hdf5(libero).episodes]
    assert tasks == ["open the middle drawer", "close the lid"]
    opened = open_hdf5(libero)
    told = [opened.demo(episode, LAYOUT).instruction for episode in opened.episodes]
    assert told == tasks


def _external_link(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/actions"]
    file["data/demo_0/actions"] = h5py.ExternalLink(str(other), "/secret")


def _external_group(file: h5py.File, other: Path) -> None:
    del file["data/demo_0"]
    file["data/demo_0"] = h5py.ExternalLink(str(other), "/")


def _soft_link(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/actions"]
    file["data/demo_0/actions"] = h5py.SoftLink("/data/demo_1/actions")


def _soft_loop(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/obs"]
    file["data/demo_0/obs"] = h5py.SoftLink("/data/demo_0/obs")


def _external_storage(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/actions"]
    file.create_dataset(
        "data/demo_0/actions", (5, 7), "f8", external=[(str(other), 0, h5py.h5f.UNLIMITED)]
    )


def _external_pixels(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/obs/agentview_rgb"]
    file.create_dataset(
        "data/demo_0/obs/agentview_rgb",
        (5, 8, 6, 3),
        "u1",
        external=[(str(other), 0, h5py.h5f.UNLIMITED)],
    )


def _virtual(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/actions"]
    layout = h5py.VirtualLayout((5, 7), "f8")
    layout[:] = h5py.VirtualSource(str(other), "secret", shape=(5, 7))
    file.create_virtual_dataset("data/demo_0/actions", layout)


def _objects(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/actions"]
    file["data/demo_0/actions"] = np.array(["a"] * 5, dtype=object)


def _records(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/actions"]
    file["data/demo_0/actions"] = np.zeros(5, [("x", "f8"), ("y", "f8")])


def _huge(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/actions"]
    file.create_dataset("data/demo_0/actions", (10**12, 7), "f8", chunks=(10, 7))


def _wide(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/actions"]
    # The product of the sides overflows 64 bits to a small number.
    file.create_dataset("data/demo_0/actions", (5, 2**32, 2**32 + 1), "f8", chunks=(1, 1, 7))


def _never_written(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/actions"]
    file.create_dataset("data/demo_0/actions", (5, 7), "f8")


def _huge_chunks(file: h5py.File, other: Path) -> None:
    del file["data/demo_0/actions"]
    made = file.create_dataset(
        "data/demo_0/actions", (5, 7), "f8", chunks=(10**6, 50), maxshape=(None, 50), compression=1
    )
    made[0] = 1.0


HOSTILE: dict[str, tuple[Callable[[h5py.File, Path], None], str]] = {
    "external link": (_external_link, "ExternalLink"),
    "external group": (_external_group, "ExternalLink"),
    "soft link": (_soft_link, "SoftLink"),
    "soft-link loop": (_soft_loop, "SoftLink"),
    "external storage": (_external_storage, "in other files"),
    "external pixels": (_external_pixels, "in other files"),
    "virtual dataset": (_virtual, "in other files"),
    "objects": (_objects, "object values"),
    "records": (_records, "expected numbers"),
    "huge length": (_huge, "expected 1 to"),
    "overflowing shape": (_wide, "bytes in each frame"),
    "never written": (_never_written, "never written"),
    "huge chunks": (_huge_chunks, "chunks of"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_before_its_values_are_read(
    libero: Path, tmp_path: Path, kind: str
) -> None:
    other = tmp_path / "secret.bin"
    with h5py.File(other, "w") as secret:
        secret["secret"] = np.ones((5, 7))
    read_all(libero)
    harm, message = HOSTILE[kind]
    hdf5_guard.OPEN.close_all()
    with h5py.File(libero, "r+") as file:
        harm(file, other)
    with pytest.raises(BrokenFile, match=message):
        read_all(libero)


def test_a_filter_that_needs_a_plugin_is_refused(libero: Path) -> None:
    with h5py.File(libero, "r+") as file:
        del file["data/demo_0/actions"]
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((5, 7))
        properties.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple((5, 7))
        made = h5py.h5d.create(
            file["data/demo_0"].id, b"actions", h5py.h5t.NATIVE_DOUBLE, space, properties
        )
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.zeros((5, 7)))
    with pytest.raises(BrokenFile, match="filter 32015"):
        read_all(libero)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num_demos", 3, "declares"),
        ("problem_info", np.zeros(3), "is no text"),
        ("problem_info", "{", "is not valid JSON"),
        ("problem_info", "[" * 100_000, "nested too deeply"),
    ],
)
def test_attributes_that_lie_are_refused(libero: Path, name: str, value: Any, message: str) -> None:
    with h5py.File(libero, "r+") as file:
        kind = h5py.string_dtype() if isinstance(value, str) else None
        file["data"].attrs.create(name, value, dtype=kind)
    with pytest.raises(BadInput, match=message):
        open_hdf5(libero)


def test_what_is_in_no_published_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.hdf5"
    path.write_bytes(b"no HDF5 at all")
    with pytest.raises(BrokenFile, match="not an HDF5 file"):
        open_hdf5(path)
    with h5py.File(path, "w") as file:
        file["action"] = np.zeros((3, 7))
    with pytest.raises(BrokenFile, match="'data' is missing"):
        open_hdf5(path)
    with h5py.File(path, "w") as file:
        file.create_group("data/episode_0")
    with pytest.raises(BrokenFile, match="expected data/demo_N"):
        open_hdf5(path)
    with h5py.File(path, "w") as file:
        file.create_group("data")
    with pytest.raises(BrokenFile, match="0 demonstrations"):
        open_hdf5(path)


@pytest.mark.parametrize("spoiled", [np.nan, np.inf])
def test_actions_that_are_no_numbers_are_refused_by_demonstration(
    libero: Path, spoiled: float
) -> None:
    with h5py.File(libero, "r+") as file:
        file["data/demo_1/actions"][1, 2] = spoiled
    with pytest.raises(BadInput, match="demonstration 1 of 'open_the_middle_drawer'"):
        read_all(libero)


def test_lengths_that_disagree_are_refused(libero: Path) -> None:
    with h5py.File(libero, "r+") as file:
        del file["data/demo_1/obs/ee_states"]
        file["data/demo_1/obs/ee_states"] = np.zeros((4, 6))
    with pytest.raises(BadInput, match="demo_1 has 3 actions"):
        read_all(libero)


def test_damaged_pixels_are_an_error(libero: Path) -> None:
    with h5py.File(libero) as file:
        place = file["data/demo_0/obs/agentview_rgb"].id.get_chunk_info(2)
    content = bytearray(libero.read_bytes())
    content[place.byte_offset : place.byte_offset + place.size] = b"\xff" * place.size
    libero.write_bytes(content)
    file = open_hdf5(libero)
    images = file.demo(file.episodes[0], LAYOUT).cameras["agentview_rgb"]
    assert images.read([1]).shape == (1, 8, 6, 3)
    with pytest.raises(BrokenFile, match="is damaged"):
        images.read([2])


def test_frames_outside_are_refused_and_images_cross_process_borders(libero: Path) -> None:
    file = open_hdf5(libero)
    images = file.demo(file.episodes[1], LAYOUT).cameras["agentview_rgb"]
    copied = pickle.loads(pickle.dumps(images))
    assert np.array_equal(copied.read([2]), images.read([2]))
    with pytest.raises(BadInput, match="frame 3 is outside"):
        images.read([3])


def test_a_missing_library_is_named_with_its_extra(
    libero: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without_h5py(name: str, *rest: Any, **named: Any) -> Any:
        if name == "h5py":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without_h5py)
    with pytest.raises(MissingDependency, match=r"phaser-vla\[hdf5\]"):
        open_hdf5(libero)
