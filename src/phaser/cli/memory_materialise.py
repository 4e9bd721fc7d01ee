"""`phaser memory materialise DIR`: frames that stayed in their dataset come into the memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from phaser.cli.arguments import Parser
from phaser.cli.output import print_json
from phaser.cli.text_table import columns, counted, file_size, printable
from phaser.core.demonstration import FrameRef
from phaser.core.errors import UnknownName
from phaser.memory.codec_names import DEFAULT_CODEC
from phaser.memory.codecs import ImageCodec
from phaser.memory.references import reference_of
from phaser.memory.sample import Sample
from phaser.memory.store import Store
from phaser.memory.stored_task import StoredTask


def execute(arguments: Sequence[str]) -> int:
    parser = Parser(
        "memory materialise",
        "Copy frames that a memory only refers to (Replay(…, store='references')) into it, so that "
        "their\ndatasets may go. Needs LeRobot, which opens the datasets.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the memory's folder")
    parser.add_argument("--task", metavar="NAME", help="only this task (default: all that refer)")
    parser.add_argument(
        "--codec",
        default=DEFAULT_CODEC,
        metavar="NAME",
        help=f"default: {DEFAULT_CODEC}; webp-lossless: no pixel changes; h264:90: clips",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = parser.parse(arguments)
    codec = ImageCodec.parse(chosen.codec)
    store = Store.open(chosen.folder)
    tasks = [task for task in store.tasks if reference_of(task) is not None]
    if chosen.task is not None:
        if chosen.task not in {task.name for task in store.tasks}:
            raise UnknownName("task of this memory", chosen.task, [t.name for t in store.tasks])
        tasks = [task for task in tasks if task.name == chosen.task]
    done = [_materialised(store, task, codec) for task in tasks]
    if chosen.json:
        print_json(
            {
                "folder": str(chosen.folder),
                "tasks": [{"task": one.name, "num_bytes": one.num_bytes} for one in done],
            }
        )
    elif not done:
        print("no task refers to a dataset; there is nothing to copy")
    else:
        rows = [
            (printable(one.name), str(one.num_frames), file_size(one.num_bytes)) for one in done
        ]
        print("\n".join(columns([("task", "frames", "bytes"), *rows], right=(1, 2))))
        print(f"\n{counted(len(done), 'task')} copied: {chosen.folder.resolve()}", flush=True)
    return 0


def _materialised(store: Store, task: StoredTask, codec: ImageCodec) -> StoredTask:
    # Imported here: both bring torch, and help and mistakes need none.
    from phaser.memory.materialising import materialise
    from phaser.replay.samples import stored_form
    from phaser.replay.stored_samples import StoredSamples

    datasets = StoredSamples(store)

    def content(ref: FrameRef, row: int) -> Sample:
        return stored_form(datasets.sample_at(ref, row))

    return materialise(store, task, content, codec).manifest.task(task.name)
