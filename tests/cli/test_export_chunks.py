"""An export with the dataset it came from: whole chunks, the robot's names, columns that merge."""

import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from synthetic import LAYOUT

from phaser import Replay, Store
from phaser.cli import main
from phaser.demos.lerobot import open_dataset
from phaser.demos.lerobot_layout import Shapes, Sidecar
from phaser.demos.lerobot_writer import Episode, write_dataset

CHUNK = 5
LENGTHS = (14, 11)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset, another with other actions, and a memory of the first."""
    folder = tmp_path_factory.mktemp("exports")
    for seed, name in enumerate(("dataset", "other")):
        chance = np.random.default_rng(seed)
        episodes = [
            Episode(
                instruction="lift the cup",
                actions=chance.normal(size=(length, 4)).astype(np.float32),
                states=chance.normal(size=(length, 2)).astype(np.float32),
                images={"front": chance.integers(0, 255, (length, 24, 32, 3), np.uint8)},
            )
            for length in LENGTHS
        ]
        shapes = Shapes(
            fps=30,
            robot_type="so100",
            state_names=("pan.pos", "lift.pos"),
            action_names=("dx", "dy", "dz", "gripper"),
            cameras={"front": (24, 32)},
        )
        write_dataset(folder / name, episodes, shapes=shapes, sidecar=Sidecar(layout=LAYOUT))
    replay = Replay(folder / "memory", method="er", budget=4)
    with replay.task(open_dataset(folder / "dataset").demos(), instruction="lift the cup"):
        pass
    return folder


def exported(made: Path, flags: str, out: Path) -> int:
    return main.execute(
        ["memory", "export", str(made / "memory"), "--to", str(out), *shlex.split(flags)]
    )


def test_a_kept_frame_brings_the_frames_of_its_chunk(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert exported(made, f"--from {made / 'dataset'} --chunk {CHUNK}", out) == 0
    kept = {
        (ref.demo, ref.frame)
        for bucket in Store.open(made / "memory").memory.buckets
        for ref in bucket.frames
    }
    dataset, whole = open_dataset(out), open_dataset(made / "dataset").demos()
    assert (dataset.shapes.robot_type, dataset.shapes.fps) == ("so100", 30)
    assert dataset.shapes.action_names == ("dx", "dy", "dz", "gripper")
    followed = set()
    for rows, demo in zip(dataset.episodes, dataset.demos(LAYOUT), strict=True):
        columns = pq.read_table(rows.path).slice(rows.start, rows.num_frames).to_pydict()
        frames, source = columns["source_frame_index"], columns["source_episode_index"][0]
        assert frames == list(range(frames[0], frames[0] + len(frames)))
        assert np.array_equal(demo.actions, whole[source].actions[frames])
        seen = whole[source].cameras["front"].read(frames)
        assert np.array_equal(demo.cameras["front"].read(range(demo.num_frames)), seen)
        end = min(frames[-1] + 1, LENGTHS[source])
        followed |= {
            (source, frame) for frame in frames if min(frame + CHUNK, LENGTHS[source]) <= end
        }
    assert kept <= followed


def test_a_mergeable_export_has_the_columns_of_its_source(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert exported(made, f"--from {made / 'dataset'} --mergeable", out) == 0
    ours, theirs = (
        json.loads((root / "meta/info.json").read_text()) for root in (out, made / "dataset")
    )
    for name in ("features", "fps", "robot_type", "codebase_version"):
        assert ours[name] == theirs[name]


def test_without_its_dataset_an_export_says_how_many_frames_are_alone(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(made, "--robot-type so101 --fps 15", tmp_path / "out") == 0
    shown = capsys.readouterr().out
    assert "robot_type so101, 15 frames per second" in shown
    assert "the rest padded; --from DATASET --chunk N adds the frames" in shown


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--chunk 8", "name the datasets they are in with --from"),
        ("--from {made}/other --chunk 8", "has another action at frame"),
        ("--from {made}/other {made}/dataset", "2 of the datasets"),
    ],
)
def test_a_dataset_that_is_not_the_source_is_refused(
    flags: str, said: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(made, flags.format(made=made), tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
