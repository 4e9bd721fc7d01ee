"""`phaser memory show DIR`: what a memory holds, as a table, as JSON, and as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from phaser.cli.arguments import Parser, positive
from phaser.cli.memory_leaves import image_names, leaves_of, picture_of
from phaser.cli.output import print_json
from phaser.cli.text_table import columns, counted, file_size, printable
from phaser.core.errors import BadInput, UnknownName
from phaser.core.files import require_writable, write_text
from phaser.core.memory import Bucket
from phaser.memory.references import reference_of, require_content
from phaser.memory.store import Store
from phaser.memory.stored_task import StoredTask
from phaser.report.contact_sheet import PhaseSheet, TaskSheet, Thumbnail, contact_sheet

PAGE = "contact-sheet.html"
MAX_PHASE_ROWS = 400


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("memory show", "What a memory holds: tasks, phases, frames, bytes, age.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the memory's folder")
    parser.add_argument(
        "--pictures", type=Path, metavar="FILE.html", help="write the kept frames as a page"
    )
    parser.add_argument(
        "--pictures-per-phase", type=positive, default=60, metavar="N", help="default: 60"
    )
    parser.add_argument("--camera", metavar="NAME", help="image shown (default: the first)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    chosen = parser.parse(arguments)
    if chosen.camera is not None and chosen.pictures is None:
        raise BadInput("--camera says which image --pictures shows; give --pictures FILE.html too")
    store = Store.open(chosen.folder)
    page = None
    if chosen.pictures is not None:
        require_content(store.tasks, chosen.folder)
        page = chosen.pictures if chosen.pictures.suffix == ".html" else chosen.pictures / PAGE
        require_writable(page.resolve().parent)
        sheets = [_sheet(store, task, chosen) for task in store.tasks]
        about = f"{store.path.resolve().name} · {_total(store)}"
        write_text(page, contact_sheet(sheets, title=_title(store), about=about))
    if chosen.json:
        print_json(_as_json(store) | {"pictures": None if page is None else str(page)})
        return 0
    print("\n".join(_lines(store)))
    if page is not None:
        print(f"pictures: {page.resolve()}", flush=True)
    return 0


def _lines(store: Store) -> list[str]:
    header = ("task", "phase", "frames", "bytes", "added", "images")
    rows = []
    num_phases = sum(len(task.phases) for task in store.tasks)
    for task in store.tasks:
        size, added = file_size(task.num_bytes), task.added[:10]
        rows.append((task.name, "", str(task.num_frames), size, added, _images(task)))
        if num_phases <= MAX_PHASE_ROWS:
            rows += [("", *_phase_cells(row), "", "") for row in task.phases]
    table = columns([header, *rows], right=(2, 3))
    left_out = [] if num_phases <= MAX_PHASE_ROWS else [f"{num_phases} phases are in --json"]
    method = printable(str(store.about.get("method", "not said")))
    return [*table, *left_out, "", f"{_total(store)} · method {method}"]


def _images(task: StoredTask) -> str:
    """How images are stored, or that they stay where they were."""
    return str(task.codec) if reference_of(task) is None else "in its dataset"


def _phase_cells(row: Mapping[str, Any]) -> tuple[str, str, str]:
    label = f"{row['index'] + 1} {row['label']}"
    return label, str(row["frames"]), file_size(row["bytes"]) if "bytes" in row else "–"


def _total(store: Store) -> str:
    if not store.tasks:
        return "no task is stored yet"
    each = file_size(store.num_bytes / store.num_frames)
    return (
        f"{counted(len(store.tasks), 'task')}, {counted(store.num_frames, 'frame')}, "
        f"{file_size(store.num_bytes)} ({each} per frame) · oldest {_oldest(store)[:10]}"
    )


def _oldest(store: Store) -> str:
    return min(task.added for task in store.tasks)


def _title(store: Store) -> str:
    return f"Memory of {counted(len(store.tasks), 'task')}"


def _as_json(store: Store) -> dict[str, Any]:
    return {
        "folder": str(store.path),
        "about": dict(store.about),
        "num_frames": store.num_frames,
        "num_bytes": store.num_bytes,
        "oldest": _oldest(store) if store.tasks else None,
        "tasks": [
            {
                "task": task.name,
                "instruction": task.instruction,
                "num_frames": task.num_frames,
                "num_bytes": task.num_bytes,
                "added": task.added,
                "images": str(task.codec),
                "refers_to": getattr(reference_of(task), "root", None),
                "lossless": task.codec.lossless,
                "source": dict(task.source),
                "file": task.shard,
                "phases": [dict(row) for row in task.phases],
            }
            for task in store.tasks
        ],
    }


def _sheet(store: Store, task: StoredTask, chosen: Any) -> TaskSheet:
    buckets = store.shard(task.name).buckets()
    leaves = leaves_of(store.read([buckets[0].frames[0]])[0])
    names = image_names(leaves)
    if chosen.camera is not None and chosen.camera not in names:
        raise UnknownName(f"image of task {task.name!r}", chosen.camera, names)
    if not names:
        raise BadInput(
            f"task {task.name!r} holds no images, only {', '.join(sorted(leaves))}; "
            "leave out --pictures"
        )
    camera, most = chosen.camera or names[0], chosen.pictures_per_phase
    phases = [
        PhaseSheet(
            label=f"{bucket.phase.index + 1} {bucket.phase.label}",
            about=_shown(len(bucket.frames), most),
            thumbnails=_thumbnails(store, bucket, camera, most),
        )
        for bucket in buckets
    ]
    about = f"“{task.instruction}” · {task.num_frames} frames · {camera} · added {task.added[:10]}"
    return TaskSheet(name=task.name, about=about, phases=phases)


def _shown(count: int, most: int) -> str:
    return counted(count, "frame") if count <= most else f"{most} of {count} frames, evenly chosen"


def _thumbnails(store: Store, bucket: Bucket, camera: str, most: int) -> Iterator[Thumbnail]:
    count = len(bucket.frames)
    places = range(count) if count <= most else [k * count // most for k in range(most)]
    for place in places:
        ref = bucket.frames[place]
        pixels = picture_of(leaves_of(store.read([ref])[0])[camera])
        # Floating-point images may leave the pixel grid from one frame to the next.
        if pixels is not None:
            yield Thumbnail(pixels=pixels, caption=f"episode {ref.demo} · frame {ref.frame}")
