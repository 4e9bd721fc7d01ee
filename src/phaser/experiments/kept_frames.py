"""The frames that a cell keeps, with their content, in the folder `memory` of the run.

The names inside a sample are LeRobot's, so that an exported memory is a dataset others can read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phaser import __version__
from phaser.core.demonstration import Demo, FrameRef
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.memory import Bucket, Memory, PreparedTask
from phaser.core.streams import Stream
from phaser.experiments.prepare import TaskMaterial
from phaser.experiments.run import Run, settings_of
from phaser.memory.certificate import Row, phase_rows, shares_equally, stride_of
from phaser.memory.codecs import ImageCodec
from phaser.memory.manifest import MANIFEST
from phaser.memory.sample import NewTask
from phaser.memory.store import Store
from phaser.methods.method import Method
from phaser.replay.budget import Budget, bounds
from phaser.training.frames import TaskFrames


@dataclass(kw_only=True, eq=False)
class KeptFrames:
    """The memory of one cell on disk; there is no folder while nothing is kept."""

    path: Path
    run: Run

    def __post_init__(self) -> None:
        # Without a manifest nothing was ever stored, whatever a killed process left there.
        is_begun = (self.path / MANIFEST).exists()
        self._store = Store.open(self.path, writing=True) if is_begun else None

    def shards(self) -> dict[str, str]:
        """SHA-256 of what is stored, by task."""
        return {one.name: one.sha256 for one in self._store.tasks} if self._store else {}

    def restored(self, shards: Mapping[str, str]) -> Memory:
        """What the tasks of these shards left, as it was; the task after them may be stored too."""
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

    def add(self, made: TaskMaterial, buckets: Sequence[Bucket]) -> None:
        """Store a task's frames, unless a process that was killed did so already."""
        task = made.prepared.task
        source = {"suite": self.run.suite.kind, "images_sha256": made.images_sha256["train"]}
        if not buckets:
            return
        if task.name in self.shards():
            self._require_same(task.name, buckets, source)
            return
        if self._store is None:
            self._store = Store.create(self.path, about=_about(self.run))
        samples = _samples(made, [ref for bucket in buckets for ref in bucket.frames])
        new = NewTask(
            task=task,
            buckets=buckets,
            sample_of=samples.__getitem__,
            phases=self._phase_rows(made.prepared, buckets),
            source=source,
        )
        self._store = self._store.add(new, ImageCodec.parse(self.run.storage.codec))

    def rows(self, tasks: Sequence[PreparedTask]) -> list[Row]:
        """Rows of the certificate, as stored, with bytes; a task that left nothing holds 0."""
        stored = self._store.manifest.rows() if self._store else []
        names = self.shards()
        return [
            row
            for task in tasks
            for row in (
                [one for one in stored if one["task"] == task.task.name]
                if task.task.name in names
                else self._phase_rows(task, ())
            )
        ]

    def _phase_rows(self, task: PreparedTask, buckets: Sequence[Bucket]) -> list[Row]:
        keep = self.run.method.keep
        return phase_rows(task, buckets, stride=stride_of(keep), equal=shares_equally(keep))

    def _require_same(
        self, task: str, buckets: Sequence[Bucket], source: Mapping[str, str]
    ) -> None:
        assert self._store is not None
        [stored] = [one for one in self._store.tasks if one.name == task]
        frames = [list(b.frames) for b in self._store.memory.buckets if b.phase.task == task]
        if frames != [list(bucket.frames) for bucket in buckets] or dict(stored.source) != source:
            raise BrokenFile(
                f"{self.path} holds other frames of task {task!r} than this run keeps; "
                "remove that folder, or begin again with another --out"
            )


def method_for(run: Run, made: TaskMaterial, stream: Stream) -> Method:
    """The method with its budget in frames of this task: given, or what fits into the bytes."""
    if run.bytes_per_task is None:
        return run.method
    codec = ImageCodec.parse(run.storage.codec)

    def size_of(ref: FrameRef) -> int:
        return Store.encoded_size(_samples(made, [ref])[ref], codec)

    fitting = Budget(num_bytes=run.bytes_per_task).select(
        run.method, made.prepared, stream=stream, size_of=size_of
    )
    frames = sum(len(bucket.frames) for bucket in fitting)
    # A memory that is not filled is smaller than its rivals', whatever both were given.
    if frames == bounds(run.method, made.prepared)[1]:
        raise BadInput(
            f"task {made.prepared.task.name!r}: a budget of {run.bytes_per_task} bytes, but its "
            f"{frames} candidates take fewer; lower the budget or the stride, or record more "
            "demonstrations"
        )
    return run.method.with_budget(frames)


def _about(run: Run) -> dict[str, Any]:
    given = {} if run.bytes_per_task is None else {"bytes_per_task": run.bytes_per_task}
    return {
        **given,
        "method": run.method_name,
        "settings": settings_of(run)["method"],
        "seed": run.seed,
        "phaser": __version__,
    }


def _samples(made: TaskMaterial, refs: Sequence[FrameRef]) -> dict[FrameRef, dict[str, Any]]:
    """Content of the frames; each demonstration's images are read in one go."""
    samples: dict[FrameRef, dict[str, Any]] = {}
    for demo in made.prepared.demos:
        own = sorted(ref for ref in refs if ref.demo == demo.index)
        if own:
            samples |= _samples_of_demo(demo, own, made.train, made.prepared.task.instruction)
    return samples


def _samples_of_demo(
    demo: Demo, refs: Sequence[FrameRef], frames: TaskFrames, instruction: str
) -> dict[FrameRef, dict[str, Any]]:
    images = {
        f"observation.images.{name}": camera.read([ref.frame for ref in refs])
        for name, camera in demo.cameras.items()
    }
    rows = [frames.row(ref) for ref in refs]
    return {
        ref: {
            **{name: pixels[position] for name, pixels in images.items()},
            "observation.state": frames.states[row],
            "action": frames.actions[row],
            "action_is_pad": ~frames.valid[row],
            "task": instruction,
        }
        for position, (ref, row) in enumerate(zip(refs, rows, strict=True))
    }
