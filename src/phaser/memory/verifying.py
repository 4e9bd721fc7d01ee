"""Compare the files of a memory with what its manifest says of them, byte by byte."""

from __future__ import annotations

from pathlib import Path

from phaser.memory.index_segments import INDEX, check_segment
from phaser.memory.manifest import MANIFEST, Manifest, read_manifest
from phaser.memory.shard import Shard
from phaser.memory.store_files import check_file, check_shard_file


def check_named_file(folder: Path, manifest: Manifest, name: str) -> None:
    """Read every byte of a file of this state; BrokenFile says what is not as it was written."""
    place, _, rest = name.partition("/")
    if name == MANIFEST:
        read_manifest(folder)
    elif place == INDEX:
        (segment,) = (one for one in manifest.segments if one.file == rest)
        check_segment(folder, segment)
    elif (state := manifest.state) is not None and name == state.file:
        check_file(folder / name, state.num_bytes, state.sha256)
    else:
        (task,) = (one for one in manifest.tasks if one.shard == rest)
        check_shard_file(folder, task, whole=True)
        Shard.open(folder / name, task).samples([0])
