"""A task that refers to its dataset becomes one that holds its frames: copied, then committed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from phaser.core.demonstration import FrameRef, Task
from phaser.memory.codecs import ImageCodec
from phaser.memory.commit import committed, taken_back
from phaser.memory.manifest import Removal, read_manifest
from phaser.memory.references import row_in, without_reference
from phaser.memory.sample import NewTask, Sample
from phaser.memory.shard_writer import write_task
from phaser.memory.store import Store
from phaser.memory.store_files import TASKS, alone, clear, clear_removed
from phaser.memory.stored_task import StoredTask


def materialise(
    store: Store, task: StoredTask, content_of: Callable[[FrameRef, int], Sample], codec: ImageCodec
) -> Store:
    """Write the frames themselves in the place of references; returns the new view.

    content_of: the sample of a frame, given its row in the dataset.
    codec: how images are encoded.
    """
    with alone(store.path):
        manifest = read_manifest(store.path)
        clear(store.path, manifest)
        now = Store(store.path, manifest)
        old = manifest.task(task.name)
        shard = now.shard(task.name)

        def sample_of(ref: FrameRef) -> Sample:
            (kept,) = now.read([ref])
            row = row_in(kept)
            return kept if row is None else content_of(ref, row)

        new = NewTask(
            task=Task(name=old.name, instruction=old.instruction),
            buckets=shard.buckets(),
            sample_of=sample_of,
            phases=old.phases,
            source=without_reference(dict(old.source)) | {"codec": str(codec)},
        )
        stem = old.shard.rpartition("-")[0]
        written = replace(write_task(store.path / TASKS, stem, new, codec), added=old.added)
        with taken_back(store.path, [written]):
            gone = [Removal(file=f"{TASKS}/{old.shard}", erase=False)]
            done = committed(manifest, changed={old.name: written}, removed=gone)
        clear_removed(store.path, done)
    return Store.open(store.path)
