"""The frames that a task will leave in memory: chosen when it begins, stored when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phaser.core.demonstration import FrameRef
from phaser.core.memory import PreparedTask
from phaser.core.streams import Stream
from phaser.memory.budget import Budget
from phaser.memory.certificate import phase_rows
from phaser.memory.codecs import ImageCodec
from phaser.memory.frames import frames_of_task
from phaser.memory.references import row_sample
from phaser.memory.sample import NewTask
from phaser.memory.sizes import kept_sizes
from phaser.memory.store import Addition, Store
from phaser.methods.method import Method
from phaser.replay.recording import Recording
from phaser.replay.samples import stored_form
from phaser.replay.stored_samples import base_row


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Choice:
    """Chooses a task's frames within the budget, given what the memory holds."""

    method: Method
    budget: Budget
    codec: ImageCodec
    task: PreparedTask
    recording: Recording
    source: Mapping[str, str]
    stream: Stream
    refers: bool = False
    """Keep where the frames are, not the frames."""

    def __call__(self, store: Store) -> Addition:
        """The frames that enter, and what gives way: the same whenever the memory is the same."""
        sizes = kept_sizes(self.task.task.name, self.sample_of, self.codec, store=lambda: store)
        kept = self.budget.keep(
            self.method.keep, self.task, store.memory, stream=self.stream, sizes=sizes
        )
        stays = kept.memory.by_task() if kept.evicted else {}
        return Addition(
            new=NewTask(
                task=self.task.task,
                buckets=kept.buckets,
                sample_of=self.sample_of,
                phases=phase_rows(self.task, kept.buckets, self.method.keep),
                source=self.source,
            ),
            shrunk={name: stays[name] for name in kept.evicted},
        )

    def check(self, store: Store) -> FrameRef | None:
        """Choose now, so that a budget that cannot be met and samples that cannot be stored are
        refused before hours of training; reads every chosen sample, and gives one of them."""
        new = self(store).new
        if not new.buckets:
            return None
        store.check_storable(new, self.codec)
        return new.buckets[0].frames[0]

    def all_frames(self) -> list[FrameRef]:
        """Every frame that the task is learnt from."""
        return [ref for frames in frames_of_task(self.task) for ref in frames]

    def sample_of(self, ref: FrameRef) -> Any:
        """The user's sample of a frame, as the store takes it, or the place where it stays."""
        if self.refers:
            samples = self.recording.samples
            return row_sample(base_row(samples, self.recording.row(ref)))
        return stored_form(self.recording.sample(ref))
