"""The LeRobot v3.0 reader returns what the writer was given, and trusts no file."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phaser.core.demonstration import ActionLayout
from phaser.core.errors import BadInput, BrokenFile, CannotWrite
from phaser.demos import png
from phaser.demos.lerobot import open_dataset
from phaser.demos.lerobot_layout import DATA_PATH, Shapes, Sidecar
from phaser.demos.lerobot_writer import Episode, write_dataset

SHAPES = Shapes(
    fps=80,
    robot_type="sawyer",
    state_names=("x", "y", "z", "gripper"),
    action_names=("dx", "dy", "dz", "gripper"),
    cameras={"corner": (8, 10), "gripper": (6, 6)},
)
SIDECAR = Sidecar(
    layout=ActionLayout(motion=(0, 1, 2), gripper=(3,)),
    task_names={"pull the drawer open": "drawer-open"},
    recording={"noise": 0.15},
)


def episode(seed: int, length: int, instruction: str = "pull the drawer open") -> Episode:
    draw = np.random.default_rng(seed)
    images = {
        name: draw.integers(0, 256, (length, *size, 3), dtype=np.uint8)
        for name, size in SHAPES.cameras.items()
    }
    vectors = draw.normal(size=(2, length, 4)).astype(np.float32)
    return Episode(instruction=instruction, actions=vectors[0], states=vectors[1], images=images)


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    root = tmp_path / "drawer"
    write_dataset(root, [episode(0, 5), episode(1, 3)], shapes=SHAPES, sidecar=SIDECAR)
    return root


def edit_info(root: Path, **changes: object) -> None:
    path = root / "meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@settings(max_examples=10, deadline=None)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5), small_files=st.booleans())
def test_what_is_written_is_read_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], small_files: bool
) -> None:
    root = tmp_path_factory.mktemp("sets") / "set"
    written = [episode(seed, length) for seed, length in enumerate(lengths)]
    limit = 0.0 if small_files else 100.0
    write_dataset(root, written, shapes=SHAPES, sidecar=SIDECAR, data_file_mb=limit)
    opened = open_dataset(root)
    assert opened.sidecar == SIDECAR
    assert opened.shapes == SHAPES
    assert len(list((root / "data").rglob("*.parquet"))) == (len(lengths) if small_files else 1)
    for demo, source in zip(opened.demos(), written, strict=True):
        assert demo.task == "drawer-open"
        assert demo.actions.tobytes() == source.actions.tobytes()
        assert demo.states.tobytes() == source.states.tobytes()
        for name, images in demo.cameras.items():
            frames = range(demo.num_frames)
            assert np.array_equal(images.read(frames), source.images[name])


def test_frames_are_read_in_the_order_asked_for(dataset: Path) -> None:
    images = open_dataset(dataset).demos()[1].cameras["corner"]
    assert np.array_equal(images.read([2, 0, 2]), episode(1, 3).images["corner"][[2, 0, 2]])
    with pytest.raises(BadInput, match="frame 3 is outside"):
        images.read([3])


def test_lazy_images_cross_process_borders(dataset: Path) -> None:
    images = open_dataset(dataset).demos()[0].cameras["gripper"]
    copied = pickle.loads(pickle.dumps(images))
    assert np.array_equal(copied.read([4]), images.read([4]))


def test_every_episode_is_its_own_row_group_and_carries_the_types_lerobot_expects(
    dataset: Path,
) -> None:
    parquet = pq.ParquetFile(dataset / "data/chunk-000/file-000.parquet")
    assert [parquet.metadata.row_group(k).num_rows for k in range(2)] == [5, 3]
    features = json.loads(parquet.schema_arrow.metadata[b"huggingface"])["info"]["features"]
    assert features["observation.images.corner"] == {"_type": "Image"}
    assert str(parquet.schema_arrow.field("observation.images.corner").type) == (
        "struct<bytes: binary, path: string>"
    )
    declared = json.loads((dataset / "meta/info.json").read_text())
    assert list(features) == parquet.schema_arrow.names
    assert set(declared["features"]) == set(features)
    assert (declared["total_frames"], declared["total_episodes"]) == (8, 2)


def test_pooled_statistics_are_those_of_all_frames(dataset: Path) -> None:
    stored = json.loads((dataset / "meta/stats.json").read_text())["action"]
    actions = np.concatenate([episode(0, 5).actions, episode(1, 3).actions]).astype(float)
    assert stored["mean"] == pytest.approx(actions.mean(axis=0))
    assert stored["std"] == pytest.approx(actions.std(axis=0))
    assert stored["max"] == pytest.approx(actions.max(axis=0))
    assert stored["count"] == [8]


def test_a_dataset_with_several_instructions_names_each_demo_by_its_own(tmp_path: Path) -> None:
    root = tmp_path / "set"
    episodes = [episode(0, 2, "push"), episode(1, 2), episode(2, 2, "push")]
    write_dataset(root, episodes, shapes=SHAPES, sidecar=SIDECAR)
    assert [demo.task for demo in open_dataset(root).demos()] == ["push", "drawer-open", "push"]
    tasks = pq.read_table(root / "meta/tasks.parquet").to_pydict()
    assert tasks["__index_level_0__"] == ["push", "pull the drawer open"]


def test_demonstrations_carry_their_instruction_and_know_which_way_is_up(dataset: Path) -> None:
    demo = open_dataset(dataset).demos()[0]
    assert demo.instruction == "pull the drawer open"
    # The dataset calls its actions dx, dy and dz.
    assert demo.layout.translation == (0, 1, 2)
    assert demo.layout == SIDECAR.layout
    told = replace(SIDECAR.layout, translation=(2, 1, 0))
    assert open_dataset(dataset).demos(told)[0].layout.translation == (2, 1, 0)
    info = (dataset / "meta/info.json").read_text()
    (dataset / "meta/info.json").write_text(info.replace('"dz"', '"lift"'))
    assert open_dataset(dataset).demos()[0].layout.translation == ()


def test_a_sidecar_with_a_senseless_up_is_refused(dataset: Path) -> None:
    sidecar = json.loads((dataset / "meta/phaser.json").read_text())
    for wrong in ([0, 1], [0, 1, 3], "xyz", 7):
        sidecar["action_layout"]["translation"] = wrong
        (dataset / "meta/phaser.json").write_text(json.dumps(sidecar))
        with pytest.raises(BrokenFile, match="no usable action_layout"):
            open_dataset(dataset)


def test_a_dataset_without_our_sidecar_needs_an_action_layout(dataset: Path) -> None:
    (dataset / "meta/phaser.json").unlink()
    opened = open_dataset(dataset)
    with pytest.raises(BadInput, match="give layout=, an ActionLayout or a name"):
        opened.demos()
    assert opened.demos(SIDECAR.layout)[0].task == "pull the drawer open"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codebase_version": "v2.1"}, "v2.1"),
        ({"data_path": "../../{chunk_index}/{file_index}"}, "data_path"),
        ({"data_path": DATA_PATH.replace("chunk_index", "chunk_index.__class__")}, "data_path"),
        ({"fps": 0}, "fps"),
        ({"features": []}, "features"),
        ({"features": {"action": {"shape": [4]}}}, "observation.state"),
    ],
)
def test_hostile_or_foreign_descriptions_are_refused(
    dataset: Path, changes: dict[str, object], message: str
) -> None:
    edit_info(dataset, **changes)
    with pytest.raises(BrokenFile, match=message):
        open_dataset(dataset)


@pytest.mark.parametrize("shape", [[100_000, 100_000, 3], [8, 10, 4], [8, 10], "big", [0, 1, 3]])
def test_impossible_image_shapes_are_refused(dataset: Path, shape: object) -> None:
    features = json.loads((dataset / "meta/info.json").read_text())["features"]
    features["observation.images.corner"]["shape"] = shape
    edit_info(dataset, features=features)
    with pytest.raises(BrokenFile, match="shape"):
        open_dataset(dataset)


def test_an_image_of_another_size_than_declared_is_never_decompressed(dataset: Path) -> None:
    features = json.loads((dataset / "meta/info.json").read_text())["features"]
    features["observation.images.corner"]["shape"] = [16, 10, 3]
    edit_info(dataset, features=features)
    with pytest.raises(BrokenFile, match="8 x 10"):
        open_dataset(dataset).demos()[0].cameras["corner"].read([0])


def test_a_link_that_leads_out_of_the_dataset_is_refused(dataset: Path, tmp_path: Path) -> None:
    inside = dataset / "data/chunk-000/file-000.parquet"
    outside = tmp_path / "elsewhere.parquet"
    inside.rename(outside)
    inside.symlink_to(outside)
    with pytest.raises(BrokenFile, match="leads out"):
        open_dataset(dataset).demos()


def test_damaged_and_missing_files_are_named(dataset: Path) -> None:
    data = dataset / "data/chunk-000/file-000.parquet"
    data.write_bytes(b"not parquet at all")
    with pytest.raises(BrokenFile, match="not a parquet file"):
        open_dataset(dataset).demos()
    data.unlink()
    with pytest.raises(BrokenFile, match="does not exist"):
        open_dataset(dataset).demos()


def test_episodes_that_claim_more_rows_than_there_are_are_refused(dataset: Path) -> None:
    data = dataset / "data/chunk-000/file-000.parquet"
    pq.write_table(pq.read_table(data).slice(0, 6), data)
    with pytest.raises(BrokenFile, match="6 rows"):
        open_dataset(dataset).demos()


def test_a_foreign_row_grouping_is_read_alike(dataset: Path) -> None:
    data = dataset / "data/chunk-000/file-000.parquet"
    pq.write_table(pq.read_table(data), data, row_group_size=3)
    demo = open_dataset(dataset).demos()[1]
    assert np.array_equal(demo.cameras["corner"].read([0, 2]), episode(1, 3).images["corner"][::2])
    assert np.array_equal(demo.actions, episode(1, 3).actions)
    assert demo.actions.flags.writeable
    assert demo.states.flags.writeable


def test_a_failed_recording_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken():
        yield episode(0, 3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_dataset(tmp_path / "set", broken(), shapes=SHAPES, sidecar=SIDECAR)
    assert list(tmp_path.iterdir()) == []


def test_an_episode_of_the_wrong_shape_is_refused(tmp_path: Path) -> None:
    good = episode(0, 3)
    bad = Episode(
        instruction="x", actions=good.actions[:, :3], states=good.states, images=good.images
    )
    with pytest.raises(BadInput, match="expected"):
        write_dataset(tmp_path / "set", [bad], shapes=SHAPES, sidecar=SIDECAR)
    with pytest.raises(BadInput, match="at least one episode"):
        write_dataset(tmp_path / "set", [], shapes=SHAPES, sidecar=SIDECAR)


def test_a_full_disk_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(pixels: np.ndarray) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(png, "encode", full)
    with pytest.raises(CannotWrite, match="free space"):
        write_dataset(tmp_path / "set", [episode(0, 2)], shapes=SHAPES, sidecar=SIDECAR)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n" + b"\0" * 8])
def test_bytes_that_are_no_png_are_refused(content: bytes) -> None:
    with pytest.raises(BrokenFile, match="restore the file"):
        png.decode(content, height=1, width=1, where="here")


def test_a_truncated_png_is_refused() -> None:
    content = png.encode(episode(0, 1).images["corner"][0])
    with pytest.raises(BrokenFile, match="damaged"):
        png.decode(content[:-40], height=8, width=10, where="here")
