"""LeRobot v2.0, v2.1 and v3.0 are read alike, and agree with LeRobot's own reader."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_datasets import (
    CAMERA,
    INSTRUCTIONS,
    edit_info,
    features,
    number_in,
    vectors,
    write_v2,
    write_v3,
)

from phaser.core.demonstration import ActionLayout
from phaser.core.errors import BadInput, BrokenFile
from phaser.demos.lerobot import open_dataset

LAYOUT = ActionLayout(motion=(0, 1, 2), gripper=(3,))
FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_the_reader_agrees_with_lerobots_own() -> None:
    expected = json.loads((FIXTURES / "lerobot_v3_expected.json").read_text())
    demos = open_dataset(FIXTURES / "lerobot_v3").demos(LAYOUT)
    assert len(demos) == expected["num_episodes"]
    assert sum(demo.num_frames for demo in demos) == expected["num_frames"]
    assert len(expected["rows"]) > 70
    for row in expected["rows"]:
        demo, frame = demos[row["episode_index"]], row["frame_index"]
        assert demo.task == row["task"]
        # The expectation was written with six digits.
        assert np.abs(demo.actions[frame] - row["action"]).max() <= 1e-6
        assert np.abs(demo.states[frame] - row["state"]).max() <= 1e-6
        for camera in ("corner", "crop"):
            mean = demo.cameras[camera].read([frame]).mean() / 255
            assert abs(mean - row[f"{camera}_mean"]) <= 0.01


@pytest.mark.parametrize("version", ["v2.0", "v2.1"])
@pytest.mark.parametrize("video", [False, True], ids=["images", "video"])
def test_a_dataset_of_one_file_per_episode_is_read(
    tmp_path: Path, version: str, video: bool
) -> None:
    lengths = (7, 12, 5)
    write_v2(tmp_path / "set", lengths, version=version, video=video)
    dataset = open_dataset(tmp_path / "set")
    assert dataset.shapes.action_names == ("x", "y", "z", "gripper")
    demos = dataset.demos(LAYOUT)
    first = 0
    for index, (demo, length) in enumerate(zip(demos, lengths, strict=True)):
        assert (demo.index, demo.task) == (index, INSTRUCTIONS[index % 2])
        actions, states = vectors(index, length)
        assert demo.actions.tobytes() == actions.tobytes()
        assert demo.states.tobytes() == states.tobytes()
        images = demo.cameras["front"].read(range(length))
        assert [number_in(image) for image in images] == list(range(first, first + length))
        first += length


def test_descriptions_spread_over_several_tables_are_all_read(tmp_path: Path) -> None:
    write_v3(tmp_path / "set", (4, 6, 3, 5))
    demos = open_dataset(tmp_path / "set").demos(LAYOUT)
    assert [demo.num_frames for demo in demos] == [4, 6, 3, 5]
    assert np.array_equal(demos[3].actions, vectors(3, 5)[0])


def test_the_hash_of_the_data_covers_the_videos(tmp_path: Path) -> None:
    write_v3(tmp_path / "set", (4, 6))
    before = open_dataset(tmp_path / "set").data_sha256()
    video = tmp_path / "set" / f"videos/{CAMERA}/chunk-000/file-000.mp4"
    video.write_bytes(video.read_bytes() + b"\0")
    assert open_dataset(tmp_path / "set").data_sha256() != before


def test_columns_named_as_openpi_names_them_are_read(tmp_path: Path) -> None:
    root = tmp_path / "set"
    write_v2(root, (3,), version="v2.0", video=False)
    renamed = {"action": "actions", "observation.state": "state", CAMERA: "wrist_image"}
    path = root / "data/chunk-000/episode_000000.parquet"
    table = pq.read_table(path)
    pq.write_table(table.rename_columns([renamed.get(k, k) for k in table.column_names]), path)
    edit_info(root, features={renamed.get(k, k): v for k, v in features(video=False).items()})
    demo = open_dataset(root).demos(LAYOUT)[0]
    assert np.array_equal(demo.actions, vectors(0, 3)[0])
    assert number_in(demo.cameras["wrist_image"].read([2])[0]) == 2


@pytest.fixture
def old(tmp_path: Path) -> Path:
    write_v2(tmp_path / "set", (4, 3), version="v2.1", video=False)
    return tmp_path / "set"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"episode_index": 0, "tasks": ["a"], "length": 4}\n', "declares 2"),
        ('{"episode_index": 0, "tasks": ["a"], "length": 4}\n' * 2, "twice"),
        ('{"episode_index": -1, "tasks": ["a"], "length": 4}\n', "episode_index -1"),
        ('{"episode_index": "../../0", "tasks": ["a"], "length": 4}\n', "episode_index"),
        ('{"episode_index": 0, "tasks": ["a"], "length": 0}\n', "without frames"),
        ('{"episode_index": 0, "tasks": [], "length": 4}\n', "tasks"),
        ('{"episode_index": 0, "tasks": ["a", "b"], "length": 4}\n', "split it"),
        ("[1]\n", "line 1 is no object"),
        ('{"episode_index"', "line 1 is not valid JSON"),
    ],
)
def test_hostile_or_broken_episode_lists_are_refused(old: Path, lines: str, message: str) -> None:
    (old / "meta/episodes.jsonl").write_text(lines)
    with pytest.raises(BadInput, match=message):
        open_dataset(old).demos(LAYOUT)


def test_an_episode_file_with_more_frames_than_declared_is_refused(old: Path) -> None:
    path = old / "meta/episodes.jsonl"
    path.write_text(path.read_text().replace('"length": 4', '"length": 3'))
    edit_info(old, total_frames=None)
    with pytest.raises(BrokenFile, match="4 rows, expected exactly 3"):
        open_dataset(old).demos(LAYOUT)


@pytest.mark.parametrize("name", ["../front", "a/b", "a\\b", "a\0b", ".hidden", ""])
def test_camera_names_that_could_lead_elsewhere_are_refused(old: Path, name: str) -> None:
    described = features(video=False)
    described[f"{name}"] = described.pop(CAMERA)
    edit_info(old, features=described)
    with pytest.raises(BrokenFile, match="cannot be used"):
        open_dataset(old)


def test_frames_at_another_rate_than_declared_are_refused(old: Path) -> None:
    edit_info(old, fps=30)
    with pytest.raises(BrokenFile, match="not 30 per second"):
        open_dataset(old).demos(LAYOUT)


def test_ragged_vectors_are_refused(old: Path) -> None:
    path = old / "data/chunk-000/episode_000000.parquet"
    table = pq.read_table(path)
    ragged = table["action"].to_pylist()
    ragged[0], ragged[1] = ragged[0][:3], [*ragged[1], 0.0]
    field = table.schema.field("action")
    column = table.schema.get_field_index("action")
    pq.write_table(table.set_column(column, field, pa.array(ragged, field.type)), path)
    with pytest.raises(BrokenFile, match="not 4 numbers in every frame"):
        open_dataset(old).demos(LAYOUT)
