"""`meta/info.json` of a LeRobot dataset (v2.0, v2.1, v3.0), checked before any of it is used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phaser.core.errors import BrokenFile
from phaser.core.ranges import MAX_WHOLE
from phaser.demos.lerobot_layout import (
    CAMERA_PREFIX,
    CHUNK_SIZE,
    DATA_PATH,
    OLD_DATA_PATH,
    OLD_VERSIONS,
    OLD_VIDEO_PATH,
    VERSION,
    VIDEO_PATH,
    Shapes,
    inside,
    small_json,
)
from phaser.demos.png import MAX_SIDE

MAX_VECTOR = 4096
ACTION_COLUMNS = ("action", "actions")
STATE_COLUMNS = ("observation.state", "state")
"""LeRobot's own name first, then the one of openpi's converters."""

_SAFE_COLUMN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,199}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Info:
    """What a dataset declares: its version, its shapes, and the columns that hold them."""

    version: str
    shapes: Shapes
    action_column: str
    state_column: str
    camera_columns: Mapping[str, str]
    video_cameras: frozenset[str]
    num_episodes: int
    num_frames: int | None
    """Frames of all episodes, where the dataset says so."""
    episodes_per_chunk: int

    @property
    def one_file_per_episode(self) -> bool:
        return self.version in OLD_VERSIONS


def read_info(root: Path) -> Info:
    path = inside(root, "meta/info.json")
    described = small_json(path)
    version = described.get("codebase_version")
    if version not in (VERSION, *OLD_VERSIONS):
        known = ", ".join((*OLD_VERSIONS, VERSION))
        raise BrokenFile(f"{path} is LeRobot {version!r}, this reader knows {known}")
    features = described.get("features")
    fps = described.get("fps")
    if isinstance(fps, float) and fps.is_integer():
        fps = int(fps)
    if not isinstance(features, dict) or not isinstance(fps, int) or not 0 < fps <= 10_000:
        raise BrokenFile(f"{path} needs 'features' and a whole number 'fps' above 0")
    stored = _cameras(path, features)
    videos = frozenset(
        name for name, column in stored.items() if _dtype(features[column]) == "video"
    )
    _check_paths(path, described, with_videos=bool(videos))
    num_episodes = _count(path, described, "total_episodes", None)
    action, state = _one_of(path, features, ACTION_COLUMNS), _one_of(path, features, STATE_COLUMNS)
    return Info(
        version=version,
        shapes=Shapes(
            fps=fps,
            robot_type=str(described.get("robot_type")),
            state_names=_vector_names(path, features, state),
            action_names=_vector_names(path, features, action),
            cameras={name: _image_size(path, features, stored[name]) for name in stored},
        ),
        action_column=action,
        state_column=state,
        camera_columns=stored,
        video_cameras=videos,
        num_episodes=num_episodes,
        num_frames=_total_frames(path, described, num_episodes),
        episodes_per_chunk=_count(path, described, "chunks_size", CHUNK_SIZE),
    )


def _check_paths(path: Path, described: Mapping[str, Any], *, with_videos: bool) -> None:
    """Paths are format strings: only the standard ones are accepted, none is ever expanded."""
    version = described["codebase_version"]
    old = version in OLD_VERSIONS
    expected = {"data_path": OLD_DATA_PATH if old else DATA_PATH}
    if with_videos:
        expected["video_path"] = OLD_VIDEO_PATH if old else VIDEO_PATH
    for key, template in expected.items():
        if described.get(key) != template:
            raise BrokenFile(
                f"{path} ({version}) has {key} {described.get(key)!r}, not {template!r}"
            )


def _cameras(path: Path, features: Mapping[str, Any]) -> dict[str, str]:
    """The column of each camera, by the camera's name: without LeRobot's prefix where it has it."""
    found: dict[str, str] = {}
    for column, feature in features.items():
        is_camera = column.startswith(CAMERA_PREFIX) or _dtype(feature) in ("image", "video")
        if not is_camera:
            continue
        name = column.removeprefix(CAMERA_PREFIX)
        if not _SAFE_COLUMN.fullmatch(column) or name in found or not name:
            raise BrokenFile(f"{path}: camera {column!r} has a name that cannot be used; rename it")
        if _dtype(feature) not in ("image", "video"):
            dtype = _dtype(feature)
            raise BrokenFile(
                f"{path}: camera {column!r} is stored as {dtype!r}; expected 'image' or 'video'"
            )
        found[name] = column
    return found


def _dtype(feature: Any) -> Any:
    return feature.get("dtype") if isinstance(feature, dict) else None


def _one_of(path: Path, features: Mapping[str, Any], columns: tuple[str, ...]) -> str:
    found = [column for column in columns if column in features]
    if len(found) != 1:
        raise BrokenFile(f"{path} has features {found}, expected one of {' or '.join(columns)}")
    return found[0]


def _count(path: Path, described: Mapping[str, Any], key: str, default: int | None) -> int:
    found = described.get(key, default)
    if type(found) is not int or not 0 < found <= 10_000_000:
        raise BrokenFile(
            f"{path} has {key} {str(found)[:60]}, expected a whole number from 1 to 10000000"
        )
    return found


def _total_frames(path: Path, described: Mapping[str, Any], num_episodes: int) -> int | None:
    found = described.get("total_frames")
    if found is None:
        return None
    if type(found) is not int or not num_episodes <= found <= MAX_WHOLE:
        raise BrokenFile(
            f"{path} has total_frames {str(found)[:60]}, expected a whole number of at least the "
            f"{num_episodes} episodes"
        )
    return found


def _image_size(path: Path, features: Mapping[str, Any], column: str) -> tuple[int, int]:
    """Height and width; the channels come last, or first in datasets converted from torch."""
    shape = features[column].get("shape")
    is_list = isinstance(shape, list) and len(shape) == 3
    if not is_list or not all(isinstance(n, int) and 0 < n <= MAX_SIDE for n in shape):
        raise BrokenFile(
            f"{path}: camera {column!r} has shape {shape}, expected [height, width, 3]"
        )
    if shape[2] == 3:
        return shape[0], shape[1]
    if shape[0] == 3:
        return shape[1], shape[2]
    raise BrokenFile(f"{path}: camera {column!r} has shape {shape}, expected [height, width, 3]")


def _vector_names(path: Path, features: Mapping[str, Any], column: str) -> tuple[str, ...]:
    feature = features[column]
    shape: Any = feature.get("shape") if isinstance(feature, dict) else None
    is_count = isinstance(shape, list) and len(shape) == 1 and isinstance(shape[0], int)
    if not is_count or not 0 < shape[0] <= MAX_VECTOR:
        raise BrokenFile(
            f"{path}: feature {column!r} has shape {shape}, expected [count] up to {MAX_VECTOR}"
        )
    names = feature.get("names")
    if isinstance(names, dict) and len(names) == 1:
        # v2.x wraps the list: {"motors": [...]}.
        names = next(iter(names.values()))
    if not (isinstance(names, list) and len(names) == shape[0]):
        names = [f"{column}_{k}" for k in range(shape[0])]
    return tuple(str(part) for part in names)
