"""The memory on disk: a manifest, a certificate and one shard per task (docs/memory-format.md).

A `Store` is a view of one manifest and never changes; adding or forgetting a task writes a new
manifest and returns a new view. Reading needs no lock and holds no file open, so views work in
threads, in forked workers, and in spawned ones, which open the folder themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput, BrokenFile, UnknownName
from phaser.core.locks import exclusive
from phaser.core.memory import Memory
from phaser.memory.codecs import ImageCodec
from phaser.memory.forget import without_episode
from phaser.memory.manifest import MANIFEST, Manifest, StoredTask, read_manifest, write_manifest
from phaser.memory.sample import NewTask, Sample
from phaser.memory.shard import Shard
from phaser.memory.shard_writer import encoded_size, write_task
from phaser.memory.store_files import (
    BUDGET,
    TASKS,
    check_budget_file,
    check_empty,
    check_own_folder,
    check_shard_file,
    leftovers,
    mend,
    new_stem,
    overwrite,
    write_budget,
)

__all__ = ["Forgotten", "NewTask", "Store"]


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
    """How many bytes that were."""
    sha256: str
    """What they were."""
    written: str | None
    """The shard that holds the rest of the task, if there is a rest."""


@dataclass(frozen=True, eq=False)
class Store:
    """One state of a memory folder."""

    path: Path
    manifest: Manifest
    _shards: dict[str, Shard] = field(default_factory=dict, repr=False)

    @classmethod
    def create(cls, path: Path | str, *, about: Mapping[str, Any]) -> Store:
        """An empty memory in a new or empty folder; `about` is JSON: method, settings, seed."""
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise BadInput(f"{path} is a file; a memory needs a folder of its own")
        manifest = Manifest(about=_as_json(about))
        with _alone(path):
            check_empty(path)
            write_manifest(path, manifest)
            write_budget(path, manifest)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path | str, *, writing: bool = False) -> Store:
        """A view of a memory: the manifest is checked, and that every shard is there whole.

        `writing` also clears what a killed process left behind, as the next `add` would.
        """
        path = Path(path)
        if not os.path.lexists(path / MANIFEST):
            raise BrokenFile(f"{path} holds no memory: {MANIFEST} is not there; name its folder")
        if writing:
            with _alone(path):
                mend(path, read_manifest(path))
        manifest = read_manifest(path)
        check_own_folder(path)
        for task in manifest.tasks:
            check_shard_file(path, task)
        return cls(path, manifest)

    @property
    def about(self) -> Mapping[str, Any]:
        return self.manifest.about

    @property
    def tasks(self) -> tuple[StoredTask, ...]:
        return self.manifest.tasks

    @property
    def num_frames(self) -> int:
        return sum(task.num_frames for task in self.tasks)

    @property
    def num_bytes(self) -> int:
        """Bytes of all shards."""
        return sum(task.num_bytes for task in self.tasks)

    @cached_property
    def memory(self) -> Memory:
        """All buckets with their prototypes; frames are references, made when asked for."""
        shards = [self.shard(task.name) for task in self.tasks]
        return Memory(tuple(bucket for shard in shards for bucket in shard.buckets()))

    def files(self) -> list[str]:
        """Every file that belongs to this state, relative to the folder."""
        return [MANIFEST, BUDGET, *(f"{TASKS}/{task.shard}" for task in self.tasks)]

    def leftovers(self) -> list[str]:
        """Files that a killed writer left behind; the next one to write clears them."""
        found = leftovers(self.path, self.manifest)
        return [str(path.relative_to(self.path)) for path in found]

    def shard(self, task: str) -> Shard:
        """The open shard of a task, mapped on first use."""
        if task not in self._shards:
            entry = self._task(task)
            self._shards[task] = Shard.open(self.path / TASKS / entry.shard, entry)
        return self._shards[task]

    def read(self, refs: Sequence[FrameRef]) -> list[Sample]:
        """The samples of these frames, in this order; a frame may be asked for twice."""
        refs = list(refs)
        positions: dict[str, list[int]] = {}
        for position, ref in enumerate(refs):
            positions.setdefault(ref.task, []).append(position)
        samples: list[Sample] = [None] * len(refs)
        for task, places in positions.items():
            shard = self.shard(task)
            rows = shard.rows(
                np.array([refs[place].demo for place in places]),
                np.array([refs[place].frame for place in places]),
            )
            for place, sample in zip(places, shard.samples(rows.tolist()), strict=True):
                samples[place] = sample
        return samples

    def add(self, new: NewTask, codec: ImageCodec) -> Store:
        """Store a finished task: shard, then manifest, then certificate."""
        with _alone(self.path):
            manifest = read_manifest(self.path)
            mend(self.path, manifest)
            if new.task.name in [task.name for task in manifest.tasks]:
                raise BadInput(
                    f"{self.path} already holds a task {new.task.name!r}; "
                    "give this one another name, or forget the stored one first"
                )
            rows = _phase_rows(new)
            stem = new_stem(manifest, new.task.name)
            written, sizes = write_task(self.path / TASKS, stem, new, codec)
            held = iter(sizes)
            task = StoredTask(
                name=new.task.name,
                instruction=new.task.instruction,
                shard=written.name,
                num_bytes=written.num_bytes,
                sha256=written.sha256,
                num_frames=sum(row["frames"] for row in rows),
                added=datetime.now(timezone.utc).isoformat(timespec="seconds"),
                source=dict(new.source),
                codec=codec,
                phases=tuple({**row, "bytes": next(held) if row["frames"] else 0} for row in rows),
            )
            _commit(self.path, manifest.with_task(task))
        return Store.open(self.path)

    def verify(self) -> None:
        """Read every byte of every file; BrokenFile names the first that is not as written."""
        now = Store(self.path, read_manifest(self.path))
        for name in now.files():
            now.verify_file(name)

    def verify_file(self, name: str) -> None:
        """Read every byte of one of `files()`; BrokenFile says what is not as it was written."""
        if name == MANIFEST:
            read_manifest(self.path)
        elif name == BUDGET:
            check_budget_file(self.path, self.manifest)
        else:
            (task,) = (one for one in self.tasks if name == f"{TASKS}/{one.shard}")
            check_shard_file(self.path, task, whole=True)
            Shard.open(self.path / TASKS / task.shard, task).samples([0])

    def forget(self, *, task: str, episode: int | None = None) -> Forgotten:
        """Remove a task, or one episode of it, so that its bytes are in no file of the folder.

        Prototypes are means over a task's demonstrations: they stay until the task goes.
        """
        with _alone(self.path):
            manifest = read_manifest(self.path)
            mend(self.path, manifest)
            now = Store(self.path, manifest)
            old = now._task(task)
            check_shard_file(self.path, old, whole=True)
            rest = None if episode is None else without_episode(now.shard(task), episode)
            tasks = [rest if one is old else one for one in manifest.tasks]
            _commit(
                self.path, replace(manifest, tasks=tuple(one for one in tasks if one is not None))
            )
            overwrite(self.path / TASKS / old.shard)
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

    def _task(self, name: str) -> StoredTask:
        for task in self.tasks:
            if task.name == name:
                return task
        raise UnknownName("task", name, [task.name for task in self.tasks])

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.path, self.manifest)


def _alone(path: Path) -> Any:
    return exclusive(path / ".lock", what="the memory")


def _as_json(about: Mapping[str, Any]) -> dict[str, Any]:
    try:
        made: dict[str, Any] = json.loads(json.dumps(dict(about), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise BadInput(f"a memory is described in plain JSON; found {about!r} ({error})") from error
    return made


def _commit(path: Path, manifest: Manifest) -> None:
    write_manifest(path, manifest)
    write_budget(path, manifest)


def _phase_rows(new: NewTask) -> list[dict[str, Any]]:
    """The certificate's rows of a new task, which must tell what the buckets hold."""
    held = {bucket.phase.index: bucket for bucket in new.buckets}
    rows = [{key: row[key] for key in row if key not in ("task", "bytes")} for row in new.phases]
    if not rows:
        return [
            {"index": index, "label": bucket.phase.label, "frames": len(bucket.frames)}
            for index, bucket in sorted(held.items())
        ]
    told = {(row["index"], row["label"], row["frames"]) for row in rows if row["frames"]}
    if told != {(index, one.phase.label, len(one.frames)) for index, one in held.items()}:
        raise BadInput(f"task {new.task.name!r}: the rows of its phases do not fit its buckets")
    return rows
