"""`phaser memory export DIR --to OUT`: the kept frames as a LeRobot v3.0 dataset.

An episode of the dataset is what a phase keeps of one demonstration, in order of time. Its frames
are not neighbours in general: `source_episode_index` and `source_frame_index` say where each came
from, `phase_index` and LeRobot's own `subtask_index` to which phase it belongs.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from phaser.cli.arguments import Parser, positive
from phaser.cli.memory_leaves import image_names, leaves_of, named, numbers_of, picture_of
from phaser.cli.output import print_json
from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput, UnknownName
from phaser.core.files import require_writable
from phaser.core.memory import Bucket
from phaser.core.segmentation import Segmentation
from phaser.demos.lerobot_layout import CAMERA_PREFIX, Shapes
from phaser.demos.lerobot_writer import Episode, write_dataset
from phaser.memory.references import require_content
from phaser.memory.sample import Sample
from phaser.memory.store import Store
from phaser.phases.lerobot_export import write_phases

COUNTERS = ("phase_index", "source_episode_index", "source_frame_index")
ACTIONS = ("action", "actions")
STATES = ("observation.state", "state", "proprio")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entries:
    """Which entries of a stored sample become which columns."""

    action: str
    state: str
    cameras: dict[str, str]
    """The entry of each camera, by the camera's name in the dataset."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Group:
    """What one phase keeps of one demonstration, in order of time."""

    bucket: Bucket
    instruction: str
    refs: tuple[FrameRef, ...]


def execute(arguments: Sequence[str]) -> int:
    chosen = _parser().parse(arguments)
    store = Store.open(chosen.folder)
    if not store.tasks:
        raise BadInput(f"{chosen.folder} holds no task yet; there is nothing to export")
    require_content(store.tasks, chosen.folder)
    if chosen.to.exists():
        raise BadInput(f"{chosen.to} exists already; choose a new folder with --to")
    require_writable(chosen.to.resolve().parent)
    entries = _entries(store, chosen)
    groups = list(_groups(store))
    export(store, groups, chosen.to, entries=entries, fps=chosen.fps)
    said = {
        "dataset": str(chosen.to),
        "num_episodes": len(groups),
        "num_frames": store.num_frames,
        "action": entries.action,
        "state": entries.state,
        "cameras": entries.cameras,
        "fps": chosen.fps,
    }
    if chosen.json:
        print_json(said)
        return 0
    cameras = ", ".join(f"{entry} as {name}" for name, entry in entries.cameras.items())
    print(f"action from {entries.action}, state from {entries.state}, images: {cameras or 'none'}")
    print("an episode is what a phase keeps of one demonstration; of an action chunk the first")
    print("action is written, of a history the last state and image, numbers as float32")
    print(f"{len(groups)} episodes, {store.num_frames} frames: {chosen.to.resolve()}", flush=True)
    return 0


def export(
    store: Store, groups: Sequence[_Group], out: Path, *, entries: Entries, fps: int
) -> None:
    """Write the dataset beside `out` first, then again with its phases; `out` appears whole."""
    shapes = _shapes(_episode(store, groups[0], entries), entries, fps)
    draft = Path(tempfile.mkdtemp(dir=out.resolve().parent, prefix=f".{out.name}.", suffix=".tmp"))
    try:
        episodes = (_episode(store, group, entries) for group in groups)
        write_dataset(draft / "frames", episodes, shapes=shapes, sidecar=None)
        phases = {
            number: Segmentation.from_boundaries(
                (), num_frames=len(group.refs), labels=(group.bucket.phase.label,)
            )
            for number, group in enumerate(groups)
        }
        write_phases(draft / "frames", out, phases, source="phaser memory")
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _groups(store: Store) -> Iterator[_Group]:
    for task in store.tasks:
        for bucket in store.shard(task.name).buckets():
            refs = sorted(bucket.frames, key=lambda ref: (ref.demo, ref.frame))
            for _, mine in groupby(refs, key=lambda ref: ref.demo):
                yield _Group(bucket=bucket, instruction=task.instruction, refs=tuple(mine))


def _episode(store: Store, group: _Group, entries: Entries) -> Episode:
    samples = list(zip(group.refs, store.read(group.refs), strict=True))
    count = len(samples)
    return Episode(
        instruction=group.instruction,
        actions=np.stack([_vector(ref, one, entries.action, row=0) for ref, one in samples]),
        states=np.stack([_vector(ref, one, entries.state, row=-1) for ref, one in samples]),
        images={
            name: np.stack([_picture(ref, one, entry) for ref, one in samples])
            for name, entry in entries.cameras.items()
        },
        counters={
            "phase_index": np.full(count, group.bucket.phase.index),
            "source_episode_index": np.array([ref.demo for ref, _ in samples]),
            "source_frame_index": np.array([ref.frame for ref, _ in samples]),
        },
    )


def _vector(ref: FrameRef, sample: Sample, entry: str, *, row: int) -> np.ndarray:
    leaves = leaves_of(sample)
    found = numbers_of(leaves[entry], row=row) if entry in leaves else None
    if found is None:
        raise BadInput(f"{entry!r} of {_place(ref)} is no vector of numbers; name another entry")
    return found


def _picture(ref: FrameRef, sample: Sample, entry: str) -> np.ndarray:
    leaves = leaves_of(sample)
    found = picture_of(leaves[entry]) if entry in leaves else None
    if found is None:
        raise BadInput(
            f"{entry!r} of {_place(ref)} is no image in bytes, nor one scaled to [0, 1]; name "
            "others with --images"
        )
    return found


def _place(ref: FrameRef) -> str:
    return f"frame {ref.frame} of episode {ref.demo} of task {ref.task!r}"


def _entries(store: Store, chosen: Any) -> Entries:
    """By flag, else by the usual names; cameras are all images, by their type."""
    first = store.shard(store.tasks[0].name).buckets()[0].frames[0]
    leaves = leaves_of(store.read([first])[0])
    images = image_names(leaves)
    for given in chosen.images or ():
        if given not in images:
            raise UnknownName("image of a stored sample (--images)", given, images)
    cameras: dict[str, str] = {}
    for entry in chosen.images if chosen.images is not None else images:
        short = entry.removeprefix(CAMERA_PREFIX)
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", short).strip("_-") or "camera"
        if name in cameras:
            raise BadInput(f"images {cameras[name]} and {entry} get one name; choose with --images")
        cameras[name] = entry
    return Entries(
        action=named(leaves, flag="--action", given=chosen.action, usual=ACTIONS),
        state=named(leaves, flag="--state", given=chosen.state, usual=STATES),
        cameras=cameras,
    )


def _shapes(first: Episode, entries: Entries, fps: int) -> Shapes:
    return Shapes(
        fps=fps,
        robot_type="unknown",
        state_names=tuple(f"{entries.state}_{k}" for k in range(first.states.shape[1])),
        action_names=tuple(f"{entries.action}_{k}" for k in range(first.actions.shape[1])),
        cameras={name: (frames.shape[1], frames.shape[2]) for name, frames in first.images.items()},
        counters=COUNTERS,
    )


def _parser() -> Parser:
    parser = Parser("memory export", "Write the kept frames as a LeRobot v3.0 dataset.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the memory's folder")
    parser.add_argument("--to", type=Path, required=True, metavar="OUT", help="a new folder")
    parser.add_argument("--action", metavar="NAME", help=f"default: {' or '.join(ACTIONS)}")
    parser.add_argument("--state", metavar="NAME", help=f"default: {' or '.join(STATES)}")
    parser.add_argument("--images", nargs="*", metavar="NAME", help="default: every image")
    parser.add_argument(
        "--fps",
        type=positive,
        default=10,
        metavar="N",
        help="frames per second to declare (default: 10); kept frames are seldom neighbours",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser
