"""`phaser memory export DIR --to OUT`: the kept frames as a LeRobot v3.0 dataset.

An episode of the dataset is a run of neighbouring frames of one demonstration, so that the rows
after a frame are the moments after it. `source_episode_index` and `source_frame_index` say where a
frame came from, `phase_index` and LeRobot's own `subtask_index` to which phase it belongs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from phaser.cli.arguments import Parser, positive
from phaser.cli.export_sources import open_sources_of
from phaser.cli.exported_dataset import Entries, Export
from phaser.cli.exported_runs import frame_runs
from phaser.cli.memory_leaves import image_names, leaves_of, named
from phaser.cli.output import print_json
from phaser.core.errors import BadInput, UnknownName
from phaser.core.files import require_writable
from phaser.demos.lerobot_layout import CAMERA_PREFIX, Shapes
from phaser.memory.references import require_content
from phaser.memory.store import Store

ACTIONS = ("action", "actions")
STATES = ("observation.state", "state", "proprio")


def execute(arguments: Sequence[str]) -> int:
    chosen = _parser().parse(arguments)
    store = Store.open(chosen.folder)
    if not store.tasks:
        raise BadInput(f"{chosen.folder} holds no task yet; there is nothing to export")
    require_content(store.tasks, chosen.folder)
    if chosen.to.exists():
        raise BadInput(f"{chosen.to} exists already; choose a new folder with --to")
    if chosen.chunk > 1 and not chosen.sources:
        raise BadInput(
            f"--chunk {chosen.chunk} adds frames that the memory does not hold; name the datasets "
            "they are in with --from"
        )
    require_writable(chosen.to.resolve().parent)
    sources = open_sources_of(store, chosen.sources) if chosen.sources else None
    lengths = sources.lengths() if sources else None
    export = Export(
        store=store,
        entries=_entries(store, chosen),
        runs=list(frame_runs(store, chunk=chosen.chunk, lengths=lengths)),
        sources=sources,
        mergeable=chosen.mergeable,
        fps=chosen.fps,
        robot_type=chosen.robot_type,
    )
    said = _said(export, export.write(chosen.to), chosen.to)
    if chosen.json:
        print_json(said)
    else:
        print("\n".join(_lines(export, said, chosen)), flush=True)
    return 0


def _said(export: Export, shapes: Shapes, out: Path) -> dict[str, Any]:
    return {
        "dataset": str(out),
        "num_episodes": len(export.runs),
        "num_frames": sum(len(run.frames) for run in export.runs),
        "num_kept": export.store.num_frames,
        "num_alone": sum(len(run.frames) == 1 for run in export.runs),
        "action": export.entries.action,
        "state": export.entries.state,
        "cameras": export.entries.cameras,
        "fps": shapes.fps,
        "robot_type": shapes.robot_type,
    }


def _lines(export: Export, said: Mapping[str, Any], chosen: Any) -> list[str]:
    entries = export.entries
    cameras = ", ".join(f"{entry} as {name}" for name, entry in entries.cameras.items())
    if chosen.chunk > 1:
        whole = [
            f"every kept frame has the {chosen.chunk - 1} frames after it, as far as there are"
        ]
    else:
        whole = [
            f"{said['num_alone']} of {said['num_episodes']} are one frame, where a policy with "
            "chunks of actions sees",
            "the rest padded; --from DATASET --chunk N adds the frames of whole chunks",
        ]
    return [
        f"action from {entries.action}, state from {entries.state}, images: {cameras or 'none'}",
        f"robot_type {said['robot_type']}, {said['fps']} frames per second",
        "an episode is a run of neighbouring frames of one demonstration;",
        *whole,
        "of an action chunk the first action is written, of a history the last state",
        f"{said['num_episodes']} episodes, {said['num_frames']} frames ({said['num_kept']} kept): "
        f"{chosen.to.resolve()}",
    ]


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


def _parser() -> Parser:
    parser = Parser("memory export", "Write the kept frames as a LeRobot v3.0 dataset.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the memory's folder")
    parser.add_argument("--to", type=Path, required=True, metavar="OUT", help="a new folder")
    parser.add_argument("--action", metavar="NAME", help=f"default: {' or '.join(ACTIONS)}")
    parser.add_argument("--state", metavar="NAME", help=f"default: {' or '.join(STATES)}")
    parser.add_argument("--images", nargs="*", metavar="NAME", help="default: every image")
    parser.add_argument(
        "--from",
        dest="sources",
        nargs="+",
        type=Path,
        default=(),
        metavar="DATASET",
        help="LeRobot datasets that the frames were kept from: names, rate, and frames of chunks",
    )
    parser.add_argument(
        "--chunk",
        type=positive,
        default=1,
        metavar="N",
        help="with --from: also the N - 1 frames after each kept one, for chunks of N actions",
    )
    parser.add_argument(
        "--mergeable",
        action="store_true",
        help="no columns of ours, so that LeRobot merges it with the dataset it came from",
    )
    parser.add_argument(
        "--fps", type=positive, metavar="N", help="default: the source's, if it is known, else 10"
    )
    parser.add_argument("--robot-type", metavar="NAME", help="default: the source's, if known")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser
