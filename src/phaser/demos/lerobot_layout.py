"""The LeRobot v3.0 folder: where files lie, what `info.json` declares, and our own sidecar.

    meta/info.json  meta/stats.json  meta/tasks.parquet  meta/phaser.json
    meta/episodes/chunk-000/file-000.parquet             data/chunk-000/file-000.parquet

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
from phaser.demos.png import MAX_SIDE

VERSION = "v3.0"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES_PATH = "meta/episodes/chunk-000/file-000.parquet"
CAMERA_PREFIX = "observation.images."
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Sidecar:
    """`meta/phaser.json`: action layout, task name of each instruction, recording fingerprint."""

    layout: ActionLayout
    task_names: Mapping[str, str] = field(default_factory=dict)
    recording: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": SIDECAR_FORMAT,
            "action_layout": asdict(self.layout),
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
    for name in ("timestamp", "frame_index", "episode_index", "index", "task_index"):
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


def data_file(root: Path, chunk: int, file: int) -> Path:
    if not (0 <= chunk < CHUNK_SIZE**2 and 0 <= file < CHUNK_SIZE):
        raise BrokenFile(f"{root} names data chunk {chunk}, file {file}; expected 0 to 999")
    return inside(root, DATA_PATH.format(chunk_index=chunk, file_index=file))


def read_shapes(root: Path) -> Shapes:
    """`meta/info.json`, checked before any of it is used."""
    path = inside(root, "meta/info.json")
    described = _small_json(path)
    version = described.get("codebase_version")
    if version != VERSION:
        raise BrokenFile(f"{path} is LeRobot {version!r}, this reader knows {VERSION!r}")
    if described.get("data_path") != DATA_PATH:
        # The path is a format string: only the standard one is accepted, none is ever expanded.
        raise BrokenFile(f"{path} has data_path {described.get('data_path')!r}, not {DATA_PATH!r}")
    features = described.get("features")
    fps = described.get("fps")
    if not isinstance(features, dict) or not isinstance(fps, int) or not 0 < fps <= 10_000:
        raise BrokenFile(f"{path} needs 'features' and a whole number 'fps' above 0")
    sizes = {
        name.removeprefix(CAMERA_PREFIX): _image_size(path, name, feature)
        for name, feature in features.items()
        if name.startswith(CAMERA_PREFIX)
    }
    return Shapes(
        fps=fps,
        robot_type=str(described.get("robot_type")),
        state_names=_vector_names(path, features, "observation.state"),
        action_names=_vector_names(path, features, "action"),
        cameras=sizes,
    )


def read_sidecar(root: Path) -> Sidecar | None:
    """Our sidecar, or nothing for a dataset that others wrote."""
    path = inside(root, "meta/phaser.json")
    if not path.exists():
        return None
    found = _small_json(path)
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
        )
    except (KeyError, TypeError, ValueError, BadInput) as error:
        raise BrokenFile(f"{path} has no usable action_layout ({error}); restore it") from error
    return Sidecar(layout=action_layout, task_names=names, recording=recording)


def _small_json(path: Path) -> dict[str, Any]:
    if path.exists() and path.stat().st_size > MAX_JSON_BYTES:
        raise BrokenFile(f"{path} has {path.stat().st_size} bytes, at most {MAX_JSON_BYTES}")
    found = read_json(path)
    if not isinstance(found, dict):
        raise BrokenFile(f"{path} holds a {type(found).__name__}, expected an object")
    return found


def _image_size(path: Path, name: str, feature: Any) -> tuple[int, int]:
    dtype = feature.get("dtype") if isinstance(feature, dict) else None
    if dtype != "image":
        raise BrokenFile(f"{path}: camera {name!r} is stored as {dtype!r}; expected 'image'")
    shape = feature.get("shape")
    valid = isinstance(shape, list) and len(shape) == 3 and shape[2] == 3
    if not valid or not all(isinstance(n, int) and 0 < n <= MAX_SIDE for n in shape):
        raise BrokenFile(f"{path}: camera {name!r} has shape {shape}, expected [height, width, 3]")
    return shape[0], shape[1]


def _vector_names(path: Path, features: Mapping[str, Any], name: str) -> tuple[str, ...]:
    feature = features.get(name)
    shape = feature.get("shape") if isinstance(feature, dict) else None
    if not (isinstance(shape, list) and len(shape) == 1 and isinstance(shape[0], int)):
        raise BrokenFile(f"{path}: feature {name!r} has shape {shape}, expected [count]")
    names = feature.get("names") if isinstance(feature, dict) else None
    if not (isinstance(names, list) and len(names) == shape[0]):
        names = [f"{name}_{k}" for k in range(min(shape[0], 1024))]
    return tuple(str(part) for part in names)
