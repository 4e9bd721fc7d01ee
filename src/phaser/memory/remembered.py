"""Buckets of the shards that this process has read: a shard never changes, so it is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from phaser.core.buckets import BucketBlock
from phaser.core.memory import Memory
from phaser.memory.shard import Shard
from phaser.memory.store_files import TASKS
from phaser.memory.stored_task import StoredTask

REMEMBERED_FOLDERS = 16


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Remembered:
    """The last memory that was asked for in a folder, and its shards in order."""

    blocks: dict[str, BucketBlock]
    memory: Memory


_LAST: dict[str, _Remembered] = {}
"""By folder; shards that a memory does not hold any more are forgotten with the next one."""


def open_shard(folder: Path, task: StoredTask) -> Shard:
    """The shard of a task, mapped and checked in form."""
    return Shard.open(folder / TASKS / task.shard, task)


def remembered_memory(folder: Path, tasks: Sequence[StoredTask]) -> Memory:
    """The buckets of all shards; a memory that only grew since it was last read is extended."""
    last = _LAST.get(str(folder)) or _Remembered(blocks={}, memory=Memory())
    known = list(last.blocks)
    grown = [task.shard for task in tasks[: len(known)]] == known
    memory = last.memory if grown else Memory()
    blocks = dict(last.blocks) if grown else {}
    for task in tasks[len(blocks) :]:
        block = last.blocks.get(task.shard) or BucketBlock.of(open_shard(folder, task).buckets())
        blocks[task.shard] = block
        memory = memory.with_block(block)
    if len(_LAST) >= REMEMBERED_FOLDERS:
        _LAST.clear()
    _LAST[str(folder)] = _Remembered(blocks=blocks, memory=memory)
    return memory
