"""What stands in the place of a file and is none is refused at once, in one line, by every reader.

A pipe without a writer would block a reader for ever, so each test also ends by a clock.
"""

import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from torch.nn import Linear

sys.path.append(str(Path(__file__).parents[1] / "demos"))

from made_datasets import edit_info, write_libero, write_v2, write_v3

from phaser.core.errors import BrokenFile, PhaserError
from phaser.core.files import parsed_json, read_bytes, read_json, sha256
from phaser.demos.opening import open_demos
from phaser.encoders.torch_file import read_tensors as read_torch
from phaser.experiments.position import Position
from phaser.experiments.run import settings_in
from phaser.memory.store import Store
from phaser.phases.shipped import read_stages
from phaser.policies.adapter_folder import ABOUT, load
from phaser.policies.loading.key_map import KeyMap
from phaser.policies.loading.reading import load_strictly
from phaser.report.fields import read_object
from phaser.training.checkpoint import read_tensors

DEEP = "[" * 100_000 + "]" * 100_000
MEMORY = Path(__file__).parents[1] / "fixtures" / "memory_v1"


@pytest.fixture(autouse=True)
def _ends_by_a_clock() -> Iterator[None]:
    def late(*_: object) -> None:
        raise AssertionError("a reader waited for something that is no file")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def bound_socket(path: Path) -> None:
    # The name of a socket is limited to 108 bytes; a link to the place keeps it short.
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(path.parent, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS = {"a pipe": pipe, "a folder": folder, "a socket": bound_socket, "a device": device}
Put = Callable[[Path], None]


@pytest.fixture(params=KINDS.items(), ids=KINDS)
def odd(request: pytest.FixtureRequest) -> tuple[str, Put]:
    found: tuple[str, Put] = request.param
    return found


def replaced(path: Path, put: Put) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path)


READERS: dict[str, Callable[[Path], object]] = {
    "bytes": read_bytes,
    "json": read_json,
    "hash": sha256,
    "stage_info.json": lambda path: read_stages(str(path)),
    "run.json": settings_in,
    "position.json": Position.read,
    "results": read_object,
    "checkpoint": lambda path: read_tensors(path, "0" * 64),
    "torch file": read_torch,
}


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_takes_anything_else_for_a_file(
    reader: str, odd: tuple[str, Put], tmp_path: Path
) -> None:
    path = tmp_path / "file.json"
    replaced(path, odd[1])
    with pytest.raises(PhaserError, match=r"file\.json"):
        READERS[reader](path)


def test_the_refusal_names_the_kind(odd: tuple[str, Put], tmp_path: Path) -> None:
    replaced(tmp_path / "x", odd[1])
    with pytest.raises(BrokenFile, match=f"x is {odd[0]}; expected a plain file"):
        read_bytes(tmp_path / "x")


def frames_of(root: Path) -> None:
    for demo in open_demos(root, layout="metaworld").all_demos:
        for images in demo.cameras.values():
            images.read([0])


@pytest.mark.parametrize(
    "place",
    [
        "meta/info.json",
        "meta/episodes/chunk-000/file-000.parquet",
        "data/chunk-000/file-000.parquet",
        "videos/observation.images.front/chunk-000/file-000.mp4",
        "meta/phaser.json",
    ],
)
def test_a_lerobot_folder_with_odd_files_is_refused(
    place: str, odd: tuple[str, Put], tmp_path: Path
) -> None:
    write_v3(tmp_path / "set", [6, 5, 4, 7])
    replaced(tmp_path / "set" / place, odd[1])
    with pytest.raises(PhaserError):
        frames_of(tmp_path / "set")


def test_an_old_lerobot_folder_with_odd_files_is_refused(
    odd: tuple[str, Put], tmp_path: Path
) -> None:
    write_v2(tmp_path / "set", [4, 5], version="v2.1", video=False)
    replaced(tmp_path / "set/meta/episodes.jsonl", odd[1])
    with pytest.raises(PhaserError, match=r"episodes\.jsonl|leads out"):
        frames_of(tmp_path / "set")


def test_hdf5_files_that_are_none_are_refused(odd: tuple[str, Put], tmp_path: Path) -> None:
    write_libero(tmp_path / "a_demo.hdf5")
    replaced(tmp_path / "b_demo.hdf5", odd[1])
    with pytest.raises(PhaserError, match=r"b_demo\.hdf5"):
        open_demos(tmp_path, layout="libero")
    with pytest.raises(PhaserError, match=r"b_demo\.hdf5"):
        open_demos(tmp_path / "b_demo.hdf5", layout="libero")


@pytest.mark.parametrize("name", ["manifest.json", "tasks/000-lift-949601a70adc.safetensors"])
def test_a_memory_with_odd_files_is_refused(
    name: str, odd: tuple[str, Put], tmp_path: Path
) -> None:
    memory = shutil.copytree(MEMORY, tmp_path / "memory")
    replaced(memory / name, odd[1])
    with pytest.raises(PhaserError):
        Store.open(memory).shard("lift")


def test_weights_and_adapters_that_are_no_files_are_refused(
    odd: tuple[str, Put], tmp_path: Path
) -> None:
    weights = tmp_path / "model.safetensors"
    replaced(weights, odd[1])
    with pytest.raises(PhaserError):
        load_strictly(Linear(1, 1), [weights], KeyMap(prefixes=()), device="cpu")
    replaced(tmp_path / "adapter" / ABOUT, odd[1])
    unused: Any = None
    with pytest.raises(PhaserError):
        load(unused, tmp_path / "adapter")


@pytest.mark.parametrize("reader", ["json", "stage_info.json", "run.json", "position.json"])
def test_json_nested_too_deeply_is_one_line(reader: str, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text(DEEP)
    with pytest.raises(BrokenFile, match=r"deep\.json is nested too deeply"):
        READERS[reader](tmp_path / "deep.json")


def test_datasets_with_json_nested_too_deeply_are_one_line(tmp_path: Path) -> None:
    write_v3(tmp_path / "new", [6, 5])
    (tmp_path / "new/meta/info.json").write_text(DEEP)
    write_v2(tmp_path / "old", [4, 5], version="v2.1", video=False)
    (tmp_path / "old/meta/episodes.jsonl").write_text(DEEP + "\n")
    for name in ("new", "old"):
        with pytest.raises(BrokenFile, match="nested too deeply"):
            frames_of(tmp_path / name)


def test_a_number_of_thousands_of_digits_is_no_json() -> None:
    with pytest.raises(BrokenFile, match="not valid JSON"):
        parsed_json("9" * 10_000, "it")


@pytest.mark.parametrize(
    "totals",
    [
        {"total_episodes": 10**30},
        {"total_episodes": True},
        {"total_episodes": -1},
        {"total_frames": 10**30},
        {"total_frames": -5},
        {"total_frames": 1},
        {"total_frames": "many"},
        {"total_frames": 9},
    ],
)
def test_declared_totals_that_cannot_be_are_refused(
    totals: dict[str, object], tmp_path: Path
) -> None:
    write_v3(tmp_path, [6, 5])
    edit_info(tmp_path, **totals)
    with pytest.raises(BrokenFile, match=r"total_|declares"):
        open_demos(tmp_path, layout="metaworld")


@pytest.mark.parametrize("number", [10**400, -1, 2**63])
def test_steps_that_cannot_be_are_refused(number: int, tmp_path: Path) -> None:
    phases = [{"name": "a", "start_ratio": 0, "end_ratio": 1}]
    episode = {"episode": 0, "num_frames": number, "boundaries": []}
    entry = {"instruction": "", "source": "x", "phases": phases, "episodes": [episode]}
    sys.set_int_max_str_digits(0)
    try:
        (tmp_path / "s.json").write_text(json.dumps({"t": entry}))
    finally:
        sys.set_int_max_str_digits(4300)
    with pytest.raises(BrokenFile, match="num_frames"):
        read_stages(str(tmp_path / "s.json"))
