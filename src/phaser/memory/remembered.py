"""Buckets of the shards that this process has read: a shard never changes, so it is read once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from phaser.core.buckets import BucketBlock
from phaser.core.memory import Memory
from phaser.memory.shard import Shard
from phaser.memory.store_files import TASKS
from phaser.memory.stored_task import StoredTask

REMEMBERED_FOLDERS = 16
REMEMBERED_SHARDS = 1 << 17
"""Shards whose buckets are remembered: some kilobytes each."""

_BLOCKS: OrderedDict[tuple[str, str], BucketBlock] = OrderedDict()
_LAST: dict[str, tuple[list[str], Memory]] = {}
"""By folder the shards of the last memory that was asked for, and that memory."""


def open_shard(folder: Path, task: StoredTask) -> Shard:
    """The shard of a task, mapped and checked in form."""
    return Shard.open(folder / TASKS / task.shard, task)


def remembered_memory(folder: Path, tasks: Sequence[StoredTask]) -> Memory:
    """The buckets of all shards; a memory that only grew since it was last read is extended."""
    shards = [task.shard for task in tasks]
    known, memory = _LAST.get(str(folder), ([], Memory()))
    if shards[: len(known)] != known:
        known, memory = [], Memory()
    for task in tasks[len(known) :]:
        memory = memory.with_block(_block(folder, task))
    if len(_LAST) >= REMEMBERED_FOLDERS:
        _LAST.clear()
    _LAST[str(folder)] = (shards, memory)
    return memory


def _block(folder: Path, task: StoredTask) -> BucketBlock:
    key = (str(folder), task.shard)
    found = _BLOCKS.get(key)
    if found is None:
        found = _BLOCKS[key] = BucketBlock.of(open_shard(folder, task).buckets())
        while len(_BLOCKS) > REMEMBERED_SHARDS:
            _BLOCKS.popitem(last=False)
    return found
