"""The LeRobot folders: where files lie, what every frame holds, and our own sidecar.

v3.0, many episodes per file:
    meta/info.json  meta/stats.json  meta/tasks.parquet  meta/episodes/chunk-000/file-000.parquet
    data/chunk-000/file-000.parquet  videos/{camera}/chunk-000/file-000.mp4
v2.0 and v2.1, one episode per file:
    meta/info.json  meta/tasks.jsonl  meta/episodes.jsonl
    data/chunk-000/episode_000000.parquet  videos/chunk-000/{camera}/episode_000000.mp4

`meta/phaser.json` holds what the format cannot say: which action dimensions move the arm, the
suite's name of each task, and how the demonstrations were recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from phaser.core.demonstration import ActionLayout
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json

VERSION = "v3.0"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-000/file-000.parquet"
OLD_VERSIONS = ("v2.0", "v2.1")
OLD_DATA_PATH = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
OLD_VIDEO_PATH = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
OLD_EPISODES_PATH = "meta/episodes.jsonl"
CAMERA_PREFIX = "observation.images."
COUNTERS = ("frame_index", "episode_index", "index", "task_index")
CHUNK_SIZE = 1000
DATA_FILE_MB = 100.0
SIDECAR_FORMAT = 1
MAX_JSON_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Shapes:
    """What every frame of a dataset holds."""

    fps: int
    robot_type: str
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    cameras: Mapping[str, tuple[int, int]]
    counters: tuple[str, ...] = ()
    """Whole numbers of every frame beyond LeRobot's own; readers that do not know them pass by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sidecar:
    """`meta/phaser.json`: action layout, task name of each instruction, recording fingerprint."""

    layout: ActionLayout
    task_names: Mapping[str, str] = field(default_factory=dict)
    recording: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        layout = asdict(self.layout)
        if layout["gripper_closes"] == "rising":
            # As files have it that were written before there was a choice.
            del layout["gripper_closes"]
        return {
            "format": SIDECAR_FORMAT,
            "action_layout": layout,
            "task_names": dict(self.task_names),
            "recording": dict(self.recording),
        }


def features_of(shapes: Shapes) -> dict[str, Any]:
    """The `features` table of `info.json`."""
    image_names = ["height", "width", "channels"]
    features: dict[str, Any] = {
        CAMERA_PREFIX + name: {"dtype": "image", "shape": [*size, 3], "names": image_names}
        for name, size in shapes.cameras.items()
    }
    vectors = {"observation.state": shapes.state_names, "action": shapes.action_names}
    for name, names in vectors.items():
        features[name] = {"dtype": "float32", "shape": [len(names)], "names": list(names)}
    for name in ("timestamp", *COUNTERS, *shapes.counters):
        dtype = "float32" if name == "timestamp" else "int64"
        features[name] = {"dtype": dtype, "shape": [1], "names": None}
    return features


def inside(root: Path, relative: str) -> Path:
    """A file of the dataset, refused when `..`, an absolute path or a link leads out."""
    home = root.resolve()
    path = (home / relative).resolve()
    if not path.is_relative_to(home):
        raise BrokenFile(f"{relative!r} leads out of the dataset {root}; such a dataset is refused")
    return path


def read_sidecar(root: Path) -> Sidecar | None:
    """Our sidecar, or nothing for a dataset that others wrote."""
    path = inside(root, "meta/phaser.json")
    if not path.exists():
        return None
    found = small_json(path)
    if found.get("format") != SIDECAR_FORMAT:
        raise BrokenFile(f"{path} has format {found.get('format')!r}, expected {SIDECAR_FORMAT}")
    layout, names, recording = (
        found.get(key, {}) for key in ("action_layout", "task_names", "recording")
    )
    if not all(isinstance(part, dict) for part in (layout, names, recording)):
        raise BrokenFile(f"{path} needs objects under action_layout, task_names and recording")
    try:
        action_layout = ActionLayout(
            motion=tuple(int(k) for k in layout["motion"]),
            gripper=tuple(int(k) for k in layout["gripper"]),
            convention=str(layout["convention"]),
            translation=tuple(int(k) for k in layout.get("translation", ())),
            gripper_closes=str(layout.get("gripper_closes", "rising")),
        )
    except (KeyError, TypeError, ValueError, BadInput) as error:
        raise BrokenFile(f"{path} has no usable action_layout ({error}); restore it") from error
    return Sidecar(layout=action_layout, task_names=names, recording=recording)


def small_json(path: Path) -> dict[str, Any]:
    if path.exists() and path.stat().st_size > MAX_JSON_BYTES:
        raise BrokenFile(f"{path} has {path.stat().st_size} bytes, at most {MAX_JSON_BYTES}")
    found = read_json(path)
    if not isinstance(found, dict):
        raise BrokenFile(f"{path} holds a {type(found).__name__}, expected an object")
    return found
