"""`phaser memory repair DIR`: a new manifest from the shards that verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from phaser.cli.arguments import Parser
from phaser.cli.output import print_json
from phaser.cli.text_table import columns, counted, file_size, printable
from phaser.memory.repair import repair


def execute(arguments: Sequence[str]) -> int:
    parser = Parser(
        "memory repair",
        "Rebuild the manifest of a memory from its shards. Use it where manifest.json is missing "
        "or damaged;\nno shard is changed or removed.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the memory's folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    chosen = parser.parse(arguments)
    found = repair(chosen.folder)
    if chosen.json:
        print_json(
            {
                "folder": str(chosen.folder),
                "tasks": [{"name": one.name, "frames": one.num_frames} for one in found.tasks],
                "refused": found.refused,
                "remarks": list(found.remarks),
            }
        )
        return 0
    rows = [
        (printable(one.name), str(one.num_frames), file_size(one.num_bytes), one.shard)
        for one in found.tasks
    ]
    print("\n".join(columns([("task", "frames", "size", "shard"), *rows], right=(1, 2))))
    for shard, reason in found.refused.items():
        print(f"left out: {shard}: {printable(reason)}")
    for remark in found.remarks:
        print(f"note: {printable(remark)}")
    print(f"\n{counted(len(found.tasks), 'task')} in a new manifest: {chosen.folder.resolve()}")
    return 0
