"""`phaser memory export`: the kept frames as a LeRobot dataset that gives them back."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from kept_memories import (
    action_of,
    alphabrain_sample,
    lerobot_sample,
    pixels_of,
    write_memory,
)
from synthetic import LAYOUT

from phaser.cli import main
from phaser.core.demonstration import FrameRef
from phaser.demos.lerobot import open_dataset
from phaser.memory.sample import TensorArray
from phaser.phases.lerobot_phases import read_phases

Said = pytest.CaptureFixture[str]


def run(words: str) -> int:
    return main.execute(["memory", "export", *shlex.split(words)])


@pytest.mark.parametrize(
    ("sample_of", "flags", "camera"),
    [(lerobot_sample, "", "front"), (alphabrain_sample, "--state joints", "image_0")],
)
def test_pixels_and_actions_come_back_bit_for_bit_with_phase_and_source(
    sample_of: Callable[[FrameRef], Any], flags: str, camera: str, tmp_path: Path
) -> None:
    store = write_memory(tmp_path / "memory", sample_of=sample_of)
    out = tmp_path / "out"
    assert run(f"{store.path} --to {out} --fps 20 {flags}") == 0
    dataset, phases = open_dataset(out), read_phases(out)
    assert dataset.shapes.fps == 20
    left = {ref: bucket.phase for bucket in store.memory.buckets for ref in bucket.frames}
    for rows in dataset.episodes:
        demo = dataset.demo(rows, LAYOUT)
        columns = pq.read_table(rows.path).slice(rows.start, rows.num_frames).to_pydict()
        frames = columns["source_frame_index"]
        assert frames == list(range(frames[0], frames[0] + len(frames)))
        pixels = demo.cameras[camera].read(range(demo.num_frames))
        for place in range(demo.num_frames):
            task = rows.instruction.removeprefix("do ")
            ref = FrameRef(task, columns["source_episode_index"][place], frames[place])
            phase = left.pop(ref)
            assert np.array_equal(pixels[place], pixels_of(ref))
            assert np.array_equal(demo.actions[place], action_of(ref))
            assert columns["phase_index"][place] == phase.index
            cut = phases[rows.index]
            assert cut.labels[cut.phase_at(place)] == phase.label
    assert left == {}


def test_what_was_exported_is_said(tmp_path: Path, capsys: Said) -> None:
    store = write_memory(tmp_path / "memory")
    assert run(f"{store.path} --to {tmp_path / 'out'} --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["num_frames"] == 24
    assert found["num_episodes"] == len(open_dataset(tmp_path / "out").episodes)
    assert found["cameras"] == {"front": "observation.images.front"}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def bare_sample(ref: FrameRef) -> dict[str, Any]:
    """No images; half-precision states, actions as a list of plain numbers."""
    state = np.array([1.5, -2.0], np.float32).view(np.uint32) >> 16
    return {
        "moves": [float(ref.frame), 0.0],
        "joints": TensorArray(values=state.astype(np.uint16), dtype="bfloat16"),
    }


def test_entries_are_named_by_flag_and_images_are_not_needed(tmp_path: Path, capsys: Said) -> None:
    store = write_memory(tmp_path / "memory", sample_of=bare_sample)
    out = tmp_path / "out"
    assert run(f"{store.path} --to {out}") == 2
    assert "no stored sample has an entry action or actions; name one of joints, moves" in (
        capsys.readouterr().err
    )
    assert run(f"{store.path} --to {out} --action moves --state joint") == 2
    assert "did you mean joints?" in capsys.readouterr().err
    assert not out.exists()
    assert run(f"{store.path} --to {out} --action moves --state joints") == 0
    demo = open_dataset(out).demos(LAYOUT)[0]
    assert np.array_equal(demo.states[0], [1.5, -2.0])
    assert demo.cameras == {}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--action task", "is no vector of numbers"),
        ("--images action", "did you mean"),
        ("--fps 0", "is not a whole number of at least 1"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    flags: str, said: str, tmp_path: Path, capsys: Said
) -> None:
    store = write_memory(tmp_path / "memory")
    out = tmp_path / "out"
    assert run(f"{store.path} --to {out} {flags}") == 2
    message = capsys.readouterr().err
    assert said in message or "known: observation.images.front" in message
    assert message.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory"]


def test_a_folder_that_exists_is_never_written_into(tmp_path: Path, capsys: Said) -> None:
    store = write_memory(tmp_path / "memory")
    assert run(f"{store.path} --to {store.path}") == 2
    assert "exists already; choose a new folder with --to" in capsys.readouterr().err
