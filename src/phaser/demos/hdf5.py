"""Read LIBERO, robomimic and robosuite HDF5: data/demo_N/{actions, states, obs/...}.

Files with images and files with actions and simulator states only are read alike. Two facts of
LIBERO's own files, kept as they are: images are stored upside down (`macros_image_convention` is
"opengl"), and obs[t] was seen after action[t] was executed, not before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from phaser.core.demonstration import ActionLayout, Demo, Images, Task
from phaser.core.errors import BadInput, BrokenFile
from phaser.demos import hdf5_guard as guard
from phaser.demos.hdf5_task import task_of
from phaser.demos.parquet_rows import check_frames
from phaser.demos.png import MAX_SIDE

MAX_DEMOS = 1_000_000
MAX_VECTOR = 4096
MAX_VECTORS_BYTES = 1 << 30
STATE_KEYS = (
    ("obs/ee_states", "obs/gripper_states"),
    (
        "obs/robot0_eef_pos",
        "obs/robot0_eef_quat",
        "obs/robot0_gripper_qpos",
        "obs/robot1_eef_pos",
        "obs/robot1_eef_quat",
        "obs/robot1_gripper_qpos",
    ),
    ("obs/robot0_eef_pos", "obs/robot0_eef_quat", "obs/robot0_gripper_qpos"),
    ("states",),
)
"""What stands for the robot's state: LIBERO, robomimic with two arms, with one, simulator only."""

_DEMO = re.compile(r"demo_(\d{1,9})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hdf5Episode:
    """One demonstration of a file: its number and its task."""

    path: Path
    index: int
    task: Task

    @property
    def name(self) -> str:
        return f"data/demo_{self.index}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hdf5File:
    """An opened file: its episodes in order, what stands for the state, how images are stored."""

    path: Path
    episodes: tuple[Hdf5Episode, ...]
    state_keys: tuple[str, ...]
    image_convention: str | None

    def demo(self, episode: Hdf5Episode, layout: ActionLayout) -> Demo:
        """One demonstration: its vectors now, its images on demand."""
        with guard.OPEN.borrowed(self.path) as file:
            demo = guard.group(file.root, episode.name, self.path)
            actions = _vectors(demo, "actions", self.path)
            parts = [_vectors(demo, key, self.path) for key in self.state_keys]
            cameras = _cameras(demo, episode)
        lengths = {key: len(part) for key, part in zip(self.state_keys, parts, strict=True)}
        if set(lengths.values()) != {len(actions)}:
            raise BadInput(
                f"{self.path}: {episode.name} has {len(actions)} actions but states {lengths}"
            )
        return Demo(
            task=episode.task.name,
            index=episode.index,
            actions=actions,
            states=np.concatenate(parts, axis=1),
            layout=layout,
            cameras=cameras,
            instruction=episode.task.instruction,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Hdf5Images:
    """Frames of one camera of one demonstration; holds no open file, so it crosses processes."""

    path: Path
    name: str
    num_frames: int

    def __len__(self) -> int:
        return self.num_frames

    def read(self, frames: Sequence[int]) -> UInt8[np.ndarray, "count height width 3"]:
        check_frames(frames, len(self))
        with guard.OPEN.borrowed(self.path) as file:
            stored = guard.array(file.root, self.name, self.path)
            if not _is_camera(stored) or len(stored) != self.num_frames:
                raise BrokenFile(f"{self.path}: {self.name} changed since it was opened")
            pixels = np.empty((len(frames), *stored.shape[1:]), np.uint8)
            for position, frame in enumerate(frames):
                pixels[position] = guard.rows(stored, int(frame), self.path)
        return pixels


def open_hdf5(
    path: Path, *, state_keys: Sequence[str] | None = None, instruction: str | None = None
) -> Hdf5File:
    """Check a file and list its demonstrations; no array is read yet.

    `state_keys` are paths below a demonstration whose columns are joined; by default the first
    of `STATE_KEYS` that the first demonstration has. All demonstrations must have the same.
    """
    with guard.OPEN.borrowed(path) as file:
        data = guard.group(file.root, "data", path)
        numbers = _numbers(data, path)
        demos = {number: guard.group(data, f"demo_{number}", path) for number in numbers}
        episodes = tuple(
            Hdf5Episode(
                path=path,
                index=number,
                task=task_of(data, demo, path, instruction=instruction),
            )
            for number, demo in demos.items()
        )
        return Hdf5File(
            path=path,
            episodes=episodes,
            state_keys=_state_keys(demos[numbers[0]], path, state_keys),
            image_convention=guard.text(data, "macros_image_convention", path),
        )


def _numbers(data: Any, path: Path) -> list[int]:
    """The numbers of the demonstrations, in order, as many as the file declares."""
    if not 0 < len(data) <= MAX_DEMOS:
        raise BrokenFile(f"{path} holds {len(data)} demonstrations, expected 1 to {MAX_DEMOS}")
    names = list(data)
    foreign = [name for name in names if not _DEMO.fullmatch(name)]
    if foreign:
        raise BrokenFile(f"{path}: data/{foreign[0]} is no demonstration; expected data/demo_N")
    numbers = sorted(int(name.removeprefix("demo_")) for name in names)
    if {f"demo_{number}" for number in numbers} != set(names):
        raise BrokenFile(f"{path} numbers its demonstrations with leading zeros; rename them")
    declared = data.attrs["num_demos"] if "num_demos" in data.attrs else len(names)
    if str(declared) != str(len(names)):
        raise BrokenFile(f"{path} holds {len(names)} demonstrations, declares {declared!r}")
    return numbers


def _state_keys(demo: Any, path: Path, wanted: Sequence[str] | None) -> tuple[str, ...]:
    for keys in [tuple(wanted)] if wanted else STATE_KEYS:
        if all(guard.find(demo, key, path) is not None for key in keys):
            return keys
    named = ", ".join(wanted) if wanted else " or ".join(", ".join(keys) for keys in STATE_KEYS)
    raise BadInput(f"{path}: {demo.name} lacks {named}; name the state's arrays")


def _vectors(demo: Any, key: str, path: Path) -> Float[np.ndarray, "frames size"]:
    stored = guard.array(demo, key, path)
    if stored.ndim != 2 or not 0 < stored.shape[1] <= MAX_VECTOR:
        raise BrokenFile(
            f"{path}: {demo.name}/{key} has shape {stored.shape}, expected (frames, size)"
        )
    if math.prod(stored.shape) * stored.dtype.itemsize > MAX_VECTORS_BYTES:
        raise BrokenFile(f"{path}: {demo.name}/{key} is larger than {MAX_VECTORS_BYTES} bytes")
    values = guard.rows(stored, slice(None), path)
    # The byte order and half precision of a file are not for the algorithm to know.
    return np.asarray(values, np.float64 if values.dtype.itemsize == 8 else np.float32)


def _cameras(demo: Any, episode: Hdf5Episode) -> dict[str, Images]:
    """Arrays of uint8 pixels below obs; depth and other observations are no cameras."""
    observed = guard.find(demo, "obs", episode.path)
    cameras: dict[str, Images] = {}
    if observed is None:
        return cameras
    for key in guard.group(demo, "obs", episode.path):
        stored = guard.array(observed, key, episode.path)
        if _is_camera(stored):
            cameras[key] = Hdf5Images(
                path=episode.path, name=f"{episode.name}/obs/{key}", num_frames=len(stored)
            )
    return cameras


def _is_camera(stored: Any) -> bool:
    if stored.dtype != np.uint8 or stored.ndim != 4 or stored.shape[3] != 3:
        return False
    return all(0 < side <= MAX_SIDE for side in stored.shape[1:3])
