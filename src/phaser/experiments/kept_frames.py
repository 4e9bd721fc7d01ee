"""The memory of one cell on disk: the folder `memory` of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phaser import __version__
from phaser.core.contract import Contract
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.memory import Memory, PreparedTask
from phaser.core.policy import FrontEnd
from phaser.core.ports import Sizes
from phaser.core.streams import Stream
from phaser.experiments.run import Run, settings_of
from phaser.memory.budget import Kept
from phaser.memory.certificate import Row, phase_rows
from phaser.memory.manifest import MANIFEST
from phaser.memory.sample import NewTask
from phaser.memory.sizes import kept_sizes
from phaser.memory.store import Addition, Store
from phaser.training.frames import TaskFrames
from phaser.training.material import TaskMaterial
from phaser.training.stored_frames import frames_in_store, stored_samples


@dataclass(kw_only=True, eq=False)
class KeptFrames:
    """The stored frames of one cell; there is no folder while nothing is kept."""

    path: Path
    run: Run
    writes: bool = True
    """Of several processes that train one policy, the first one alone writes."""

    def __post_init__(self) -> None:
        self.run.storage.image_codec.check_supported()
        self._sizes: dict[str, Sizes] = {}
        self.look()

    def look(self) -> None:
        """See what is stored now; for a process that does not write, after another one did."""
        # Without a manifest nothing was ever stored, whatever a killed process left there.
        is_begun = (self.path / MANIFEST).exists()
        self._store = Store.open(self.path, writing=self.writes) if is_begun else None

    def shards(self) -> dict[str, str]:
        """SHA-256 of what is stored, by task."""
        return {one.name: one.sha256 for one in self._store.tasks} if self._store else {}

    def restored(self, shards: Mapping[str, str]) -> Memory:
        """The memory of the tasks of these shards; the task after them may be stored too."""
        found = self.shards()
        for task, expected in shards.items():
            if found.get(task) != expected:
                now = found.get(task, "nothing")
                raise BrokenFile(
                    f"{self.path}: the stored frames of task {task!r} changed (SHA-256 "
                    f"{expected[:12]} → {now[:12]}); restore them, or begin again with another "
                    "--out"
                )
        if self._store is None:
            return Memory()
        return Memory(tuple(b for b in self._store.memory.buckets if b.phase.task in shards))

    def add(self, made: TaskMaterial, kept: Kept) -> None:
        """Store a task's frames; tasks that give way to it shrink in the same commit."""
        task, buckets = made.prepared.task, kept.buckets
        source = {"suite": self.run.suite_kind, "images_sha256": made.images_sha256["train"]}
        if not buckets or not self.writes:
            return
        if self._store is None:
            self._store = Store.create(self.path, about=_about(self.run))
        refs = [ref for bucket in buckets for ref in bucket.frames]
        samples = stored_samples(made.prepared.demos, made.train, refs)
        stays = kept.memory.by_task() if kept.evicted else {}
        addition = Addition(
            new=NewTask(
                task=task,
                buckets=buckets,
                sample_of=samples.__getitem__,
                phases=phase_rows(made.prepared, buckets, self.run.method.keep),
                source=source,
            ),
            shrunk={name: stays[name] for name in kept.evicted},
        )
        self._store = self._store.add_planned(lambda now: addition, self.run.storage.image_codec)

    def rehearsed(
        self, made: TaskMaterial, kept: Kept, *, contract: Contract, front_end: FrontEnd | None
    ) -> TaskFrames:
        """The kept frames of a task that was just stored, as later tasks rehearse them."""
        if self.run.storage.reads_recordings:
            return made.train.only([ref for bucket in kept.buckets for ref in bucket.frames])
        return self.frames(made.prepared.task.name, contract=contract, front_end=front_end)

    def frames(self, task: str, *, contract: Contract, front_end: FrontEnd | None) -> TaskFrames:
        """The frames of a task from the store alone; its recordings may be gone."""
        return frames_in_store(self._stored(), task, contract=contract, front_end=front_end)

    def sizes(self, material_of: Callable[[str], TaskMaterial]) -> Callable[[PreparedTask], Sizes]:
        """Gives, for a task, the encoded size of its frames in bytes."""

        def of_task(task: PreparedTask) -> Sizes:
            name = task.task.name
            if name not in self._sizes:
                made = material_of(name)
                self._sizes[name] = kept_sizes(
                    name,
                    lambda ref: stored_samples(made.prepared.demos, made.train, [ref])[ref],
                    self.run.storage.image_codec,
                    store=self._stored,
                )
            return self._sizes[name]

        return of_task

    def _stored(self) -> Store:
        assert self._store is not None
        return self._store

    def rows(self, tasks: Sequence[PreparedTask]) -> list[Row]:
        """Rows of the certificate, as stored, with bytes; a task that left nothing holds 0."""
        stored = self._store.manifest.rows() if self._store else []
        names = self.shards()
        keep = self.run.method.keep
        nothing = [
            row
            for task in tasks
            if task.task.name not in names
            for row in phase_rows(task, (), keep)
        ]
        order = {task.name: place for place, task in enumerate(self.run.suite.tasks())}
        return sorted([*stored, *nothing], key=lambda row: order[row["task"]])


def check_filled(run: Run, made: TaskMaterial, sizes: Sizes, stream: Stream) -> None:
    """Refuse a budget in bytes per task that a task cannot fill: its memory would be smaller than
    its rivals', whatever both were given."""
    budget, keep = run.budget, run.method.keep
    if budget is None or budget.unit != "bytes" or budget.is_total:
        return
    kept = budget.keep(keep, made.prepared, stream=stream, sizes=sizes)
    frames = sum(len(bucket.frames) for bucket in kept.buckets)
    if frames == keep.most(made.prepared):
        raise BadInput(
            f"task {made.prepared.task.name!r}: a budget of {budget.amount} bytes, but its "
            f"{frames} candidates take fewer; lower the budget, record more demonstrations or, "
            "where the method has a stride, choose among more frames (--method.keep.stride 1)"
        )


def _about(run: Run) -> dict[str, Any]:
    settings = settings_of(run)
    return {
        "budget": settings["budget"],
        "method": run.method_name,
        "settings": settings["method"],
        "seed": run.seed,
        "phaser": __version__,
    }
