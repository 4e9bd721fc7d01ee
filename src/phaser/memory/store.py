"""The memory on disk: a manifest, its index and one shard per task (docs/memory-format.md).

A `Store` is a view of one manifest and never changes; adding or forgetting a task writes a new
manifest and returns a new view. Reading needs no lock and holds no file open, so views work in
threads, in forked workers, and in spawned ones, which open the folder themselves.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput, BrokenFile, CannotWrite
from phaser.core.frame_refs import places_by_task
from phaser.core.memory import Memory
from phaser.memory.certificate import certificate
from phaser.memory.codecs import ImageCodec
from phaser.memory.commit import committed, taken_back
from phaser.memory.manifest import MANIFEST, Manifest, Removal, as_json, read_manifest
from phaser.memory.orphans import orphans_of
from phaser.memory.remembered import open_shard, remembered_memory
from phaser.memory.rule_state import Arrays, read_state, write_state
from phaser.memory.sample import Addition, NewTask, Sample
from phaser.memory.shard import Shard
from phaser.memory.shard_rows import with_buckets, without_episode
from phaser.memory.shard_writer import check_storable, encoded_size, write_task
from phaser.memory.store_files import (
    TASKS,
    alone,
    check_empty,
    check_own_folders,
    check_shard_file,
    clear,
    clear_removed,
    leftovers,
    named_files,
    new_stem,
)
from phaser.memory.stored_task import StoredTask
from phaser.memory.verifying import check_named_file

__all__ = ["Addition", "Forgotten", "NewTask", "Store"]

OPEN_SHARDS = 256
"""Shards whose map stays open; the system allows some ten thousand maps per process."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Forgotten:
    """What went, and the view without it."""

    store: Store
    task: str
    episode: int | None
    num_frames: int
    removed: str
    """The shard that was overwritten with zeros and removed."""
    num_bytes: int
    """Size of that shard."""
    sha256: str
    """SHA-256 of that shard."""
    written: str | None
    """The shard that holds the rest of the task, if there is a rest."""


@dataclass(frozen=True, eq=False)
class Store:
    """One state of a memory folder."""

    path: Path
    """The folder."""
    manifest: Manifest
    """What the folder holds, as it was when this view was opened."""
    _shards: OrderedDict[str, Shard] = field(default_factory=OrderedDict, repr=False)

    @classmethod
    def create(cls, path: Path | str, *, about: Mapping[str, Any]) -> Store:
        """Make an empty memory.

        Args:
            path: a folder that is new or empty.
            about: whatever the writer says of itself, as JSON: method, settings, seed.
        """
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise BadInput(f"{path} is a file; a memory needs a folder of its own")
        with alone(path):
            check_empty(path)
            committed(Manifest(folder=path, about=as_json(about)))
        return cls.open(path)

    @classmethod
    def open(cls, path: Path | str, *, writing: bool = False) -> Store:
        """A view of a memory: the manifest is checked now, a shard when it is first used.

        Args:
            path: the folder of the memory.
            writing: also clear what a killed process left behind, as the next `add` would.
        """
        path = Path(path)
        if not os.path.lexists(path / MANIFEST):
            raise BrokenFile(f"{path} holds no memory: {MANIFEST} is not there; name its folder")
        check_own_folders(path)
        if writing:
            with alone(path):
                clear(path, read_manifest(path))
        return cls(path, read_manifest(path))

    @property
    def about(self) -> Mapping[str, Any]:
        return self.manifest.about

    @property
    def tasks(self) -> tuple[StoredTask, ...]:
        return self.manifest.tasks

    @property
    def num_frames(self) -> int:
        return self.manifest.num_frames

    @property
    def num_bytes(self) -> int:
        """Bytes of all shards."""
        return self.manifest.num_bytes

    def certificate(self) -> dict[str, Any]:
        """What the memory holds, per phase, per task and in total."""
        return certificate(self.manifest.rows())

    @cached_property
    def memory(self) -> Memory:
        """All buckets with their prototypes; frames are references, made when asked for."""
        return remembered_memory(self.path, self.tasks)

    def files(self) -> list[str]:
        """Every file of this state, relative to the folder."""
        return named_files(self.manifest)

    def leftovers(self) -> list[str]:
        """Files of the folder that this state does not name."""
        found = leftovers(self.path, self.manifest)
        return [str(path.relative_to(self.path)) for path in found]

    def shard(self, task: str) -> Shard:
        """The open shard of a task; the ones used last stay mapped."""
        if task not in self._shards:
            self._shards[task] = open_shard(self.path, self.manifest.task(task))
            while len(self._shards) > OPEN_SHARDS:
                self._shards.popitem(last=False)
        self._shards.move_to_end(task)
        return self._shards[task]

    def read(self, refs: Sequence[FrameRef]) -> list[Sample]:
        """The samples of these frames, in this order; a frame may be asked for twice."""
        refs = list(refs)
        samples: list[Sample] = [None] * len(refs)
        for places, shard, rows in self._rows(refs):
            for place, sample in zip(places, shard.samples(rows.tolist()), strict=True):
                samples[place] = sample
        return samples

    def frame_bytes(self, refs: Sequence[FrameRef]) -> dict[FrameRef, int]:
        """Encoded bytes of stored frames where no others of their tasks are kept."""
        refs = list(refs)
        found: dict[FrameRef, int] = {}
        for places, shard, rows in self._rows(refs):
            sizes = shard.row_bytes(rows).tolist()
            found |= zip((refs[place] for place in places), sizes, strict=True)
        return found

    def add(self, new: NewTask, codec: ImageCodec) -> Store:
        """Store a finished task: its shard, then the manifest, which commits it.

        Args:
            new: the task, its buckets and the samples of their frames.
            codec: how images are encoded.
        """
        return self.add_planned(lambda now: Addition(new=new), codec)

    def add_planned(
        self,
        plan: Callable[[Store], Addition],
        codec: ImageCodec,
        *,
        waiting: Callable[[str], None] | None = None,
    ) -> Store:
        """Store a task within what the memory holds now, which another process may have changed.

        Args:
            plan: says what enters and what gives way, given the newest state.
            codec: how images are encoded.
            waiting: told in one line when another process has to finish first.
        """
        with alone(self.path, waiting):
            manifest = read_manifest(self.path)
            clear(self.path, manifest)
            now = Store(self.path, manifest)
            addition = plan(now)
            manifest.check_new(addition.new.task.name)
            for name in addition.shrunk:
                # Whole, or damaged rows would be copied under a new hash.
                check_shard_file(self.path, manifest.task(name), whole=True)
            changed = {
                name: with_buckets(now.shard(name), buckets)
                for name, buckets in addition.shrunk.items()
            }
            stem = new_stem(manifest, addition.new.task.name)
            task = write_task(self.path / TASKS, stem, addition.new, codec)
            with taken_back(self.path, [task, *changed.values()]):
                state = None if addition.state is None else write_state(self.path, addition.state)
                gone = [
                    Removal(file=f"{TASKS}/{manifest.task(name).shard}", erase=False)
                    for name in changed
                ]
                done = committed(manifest, new=task, changed=changed, removed=gone, state=state)
            with suppress(CannotWrite):
                # The task is in; what gave way is named in the manifest, and the next writer
                # removes what could not be removed now.
                clear_removed(self.path, done)
        return Store.open(self.path)

    def put_state(self, arrays: Arrays) -> Store:
        """Store what a method's rules leave where a task leaves no frames."""
        with alone(self.path):
            manifest = read_manifest(self.path)
            clear(self.path, manifest)
            clear_removed(self.path, committed(manifest, state=write_state(self.path, arrays)))
        return Store.open(self.path)

    def state(self) -> dict[str, np.ndarray]:
        """What the rules of a method left so far."""
        return read_state(self.path, self.manifest.state)

    def verify(self) -> None:
        """Read every byte of every file; BrokenFile names the first that is not as written."""
        now = Store(self.path, read_manifest(self.path))
        for name in now.files():
            now.verify_file(name)

    def verify_file(self, name: str) -> None:
        """Read every byte of one of `files()`; BrokenFile says what is not as it was written."""
        check_named_file(self.path, self.manifest, name)

    def forget(self, *, task: str, episode: int | None = None) -> Forgotten:
        """Remove a task, or one episode of it, so that its bytes are in no file of the folder.

        Prototypes are means over a task's demonstrations: they stay until the task goes.

        Args:
            task: the name of the task.
            episode: the number of one demonstration; None: the whole task goes.
        """
        with alone(self.path):
            manifest = read_manifest(self.path)
            clear(self.path, manifest)
            now = Store(self.path, manifest)
            old = manifest.task(task)
            check_shard_file(self.path, old, whole=True)
            removed = [Removal(file=f"{TASKS}/{old.shard}", erase=True)]
            removed += orphans_of(self.path, manifest, task)
            rest = None if episode is None else without_episode(now.shard(task), episode)
            done = committed(manifest, changed={task: rest}, removed=removed)
            clear_removed(self.path, done)
        return Forgotten(
            store=Store.open(self.path),
            task=task,
            episode=episode,
            num_frames=old.num_frames - (rest.num_frames if rest else 0),
            removed=old.shard,
            num_bytes=old.num_bytes,
            sha256=old.sha256,
            written=rest.shard if rest else None,
        )

    encoded_size = staticmethod(encoded_size)
    """Bytes that one more frame like this sample takes, for a budget in bytes."""

    check_storable = staticmethod(check_storable)
    """Refuses what `add` would refuse of a task, and writes nothing."""

    def _rows(self, refs: Sequence[FrameRef]) -> Iterator[tuple[list[int], Shard, np.ndarray]]:
        """Shard by shard: the places among these frames that it holds, and their rows in it."""
        for task, places in places_by_task(refs).items():
            shard = self.shard(task)
            demos = np.array([refs[place].demo for place in places], np.int64)
            frames = np.array([refs[place].frame for place in places], np.int64)
            yield places, shard, shard.rows(demos, frames)

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.path, replace(self.manifest, _loaded=[]))
