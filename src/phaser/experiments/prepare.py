"""From a suite's task to what a method and a policy need: features, phases, prototypes, frames.

Everything expensive is done once per recording and kept in the cache: demonstrations by the suite,
frozen features here. `prefetch` does that for many tasks in parallel; whoever needs a task that is
being prepared elsewhere waits for it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.queues import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from phaser.core.contract import Contract
from phaser.core.demonstration import Demo, Task
from phaser.core.encoders import LanguageEncoder, VisionEncoder
from phaser.core.memory import FrameFeatures, PreparedTask
from phaser.core.policy import FrontEnd, PolicySettings
from phaser.core.ports import Segmenter
from phaser.core.suite import SPLITS, Suite
from phaser.encoders.feature_cache import cached_rows, nothing
from phaser.encoders.table import Encoders
from phaser.routing.prototypes import prototypes
from phaser.training.frame_rows import DemoRows
from phaser.training.frames import ImageRows, TaskFrames
from phaser.training.material import TaskMaterial
from phaser.training.phase_probe import HeldoutPhases
from phaser.training.pixel_rows import PixelRows

DESCRIPTION = "summary"
"""The name under which one vector per frame is cached beside the front end's arrays."""
READ_AT_ONCE = 512
"""Frames whose pixels are in memory at a time; a multiple of what encoders take at once."""
RECORDING = 0.6
"""The share of the time of recording and encoding a task that recording takes."""

Told = Callable[[str, float | None], None]
"""Called with what is being done, and how much of it is done where that is known."""


def untold(doing: str, share: float | None) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Preparation:
    """Reads, encodes and cuts the tasks of a suite."""

    suite: Suite
    contract: Contract
    front_end: FrontEnd | None
    """The frozen part of the policy's sight; None for a policy that reads pixels."""
    vision: VisionEncoder
    language: LanguageEncoder
    chunk_length: int

    @classmethod
    def of(
        cls, suite: Suite, policy: PolicySettings, encoders: Encoders, *, chunk_length: int
    ) -> Preparation:
        contract = suite.contract
        return cls(
            suite=suite,
            contract=contract,
            front_end=policy.front_end(contract),
            vision=encoders.build_vision(contract.cameras),
            language=encoders.build_language(),
            chunk_length=chunk_length,
        )

    def material(self, task: Task, segmenter: Segmenter, told: Told = untold) -> TaskMaterial:
        """Read, encode and cut one task's demonstrations."""
        told("reading", None)
        demos = {split: self.suite.demos(task, split) for split in SPLITS}
        hashes = {split: self.suite.images_sha256(task, split) for split in SPLITS}
        arrays = {split: self.features(demos[split], hashes[split], told) for split in SPLITS}
        frames = {
            split: TaskFrames.of(
                demos[split],
                self._images(demos[split], arrays[split]),
                instruction=task.instruction,
                chunk_length=self.chunk_length,
            )
            for split in SPLITS
        }
        told("finding phases of", None)
        # Held-out demonstrations are cut along with the others, so that their phases mean the same.
        cut = segmenter.segment([*demos["train"], *demos["heldout"]])
        train_cut, heldout_cut = cut[: len(demos["train"])], cut[len(demos["train"]) :]
        described = features_of(demos["train"], arrays["train"][DESCRIPTION])
        prepared = PreparedTask(
            task=task,
            demos=demos["train"],
            segmentations=train_cut,
            prototypes=prototypes(
                demos["train"],
                train_cut,
                instruction_embedding=self.language.encode([task.instruction])[0],
                frame_features=described,
            ),
            features=described,
        )
        return TaskMaterial(
            prepared=prepared,
            train=frames["train"],
            heldout=HeldoutPhases(
                phases=prepared.phase_ids(),
                frames=frames["heldout"],
                segmentations={
                    demo.index: one for demo, one in zip(demos["heldout"], heldout_cut, strict=True)
                },
            ),
            images_sha256=hashes,
        )

    def features(
        self, demos: Sequence[Demo], images_sha256: str, told: Told = untold
    ) -> dict[str, np.ndarray]:
        """The arrays of the front end, and one vector per frame; computed once, then cached."""
        front_end, vision, cache = self.front_end, self.vision, self.suite.cache / "features"
        shared = front_end is not None and front_end.identity == vision.identity

        frames = sum(demo.num_frames for demo in demos)

        def pixels() -> Iterator[dict[str, np.ndarray]]:
            return _pixels(demos, lambda done: told("encoding", done / frames))

        def summary(maps: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {DESCRIPTION: vision.describe(maps)}

        found: dict[str, np.ndarray] = {}
        if front_end is not None:
            found = cached_rows(
                (front_end.identity, images_sha256),
                lambda: map(front_end, pixels()),
                num_rows=frames,
                folder=cache,
                derive=summary if shared else nothing,
            )
        if not shared:
            found = found | cached_rows(
                (vision.identity, "described", images_sha256),
                lambda: (summary(vision(part)) for part in pixels()),
                num_rows=frames,
                folder=cache,
            )
        return found

    def _images(
        self, demos: Sequence[Demo], arrays: Mapping[str, np.ndarray]
    ) -> dict[str, ImageRows]:
        if self.front_end is None:
            size = self.contract.image_size
            return {
                camera: PixelRows(demos=demos, camera=camera, image_size=size)
                for camera in self.contract.cameras
            }
        return {name: rows for name, rows in arrays.items() if name != DESCRIPTION}


def features_of(demos: Sequence[Demo], rows: np.ndarray) -> FrameFeatures:
    """Looks up the vectors of a demonstration among those of all."""
    places = DemoRows.of(demos)

    def frame_features(demo: Demo) -> np.ndarray:
        start = places.offsets[demo.index]
        return rows[start : start + demo.num_frames]

    return frame_features


def prefetch(
    suite: Suite,
    policy: PolicySettings,
    encoders: Encoders,
    tasks: Sequence[Task],
    ready: Callable[[Task], None],
    *,
    told: Callable[[str, str, float | None], None] = lambda task, doing, share: None,
    num_workers: int = 2,
) -> None:
    """Record and encode tasks in parallel processes.

    ready: called as each task is done.
    told: called with a task's name, what is being done with it, and how much of it is done.
    """
    context = get_context("spawn")
    news: SimpleQueue[tuple[str, str, float | None] | None] = context.SimpleQueue()

    def listen() -> None:
        while (one := news.get()) is not None:
            told(*one)

    listener = Thread(target=listen, daemon=True)
    listener.start()
    with ProcessPoolExecutor(
        num_workers, mp_context=context, initializer=_remember, initargs=(news,)
    ) as pool:
        jobs = {pool.submit(_prepare_task, suite, policy, encoders, task): task for task in tasks}
        for job in as_completed(jobs):
            job.result()
            ready(jobs[job])
    news.put(None)
    listener.join()


_news: list[SimpleQueue[Any]] = []
"""Where a recording process tells how far it is."""


def _remember(news: SimpleQueue[Any]) -> None:
    _news.append(news)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, however that ended."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        # A recording appears when it is whole, so nothing has to be tidied up.
        os._exit(1)


def _prepare_task(suite: Suite, policy: PolicySettings, encoders: Encoders, task: Task) -> None:
    (news,) = _news

    def tell(doing: str, share: float | None) -> None:
        news.put((task.name, doing, share))

    prepare_task(suite, policy, encoders, task, tell)


def prepare_task(
    suite: Suite,
    policy: PolicySettings,
    encoders: Encoders,
    task: Task,
    tell: Callable[[str, float | None], None] = lambda doing, share: None,
) -> None:
    """Record and encode one task; no policy is built for it.

    tell: called with what is being done and how much of it is done.
    """
    import torch

    torch.set_num_threads(1)
    total, recorded = suite.demos_to_record(task), itertools.count(1)
    tell("recording", None)
    suite.ensure_recorded(
        task, lambda: tell("recording", total and RECORDING * min(1, next(recorded) / total))
    )
    preparation = Preparation.of(suite, policy, encoders, chunk_length=1)
    for place, split in enumerate(SPLITS):
        # The held-out demonstrations are few and come last.
        low, high = ((RECORDING, 0.96), (0.96, 1.0))[place]

        def part(doing: str, share: float | None, low: float = low, high: float = high) -> None:
            tell(doing, share and low + (high - low) * share)

        preparation.features(suite.demos(task, split), suite.images_sha256(task, split), part)


def _pixels(demos: Sequence[Demo], done: Callable[[int], None]) -> Iterator[dict[str, np.ndarray]]:
    """All frames in order, some at a time: of a long demonstration not all pixels fit in memory."""
    count = 0
    for demo in demos:
        for start in range(0, demo.num_frames, READ_AT_ONCE):
            frames = range(start, min(start + READ_AT_ONCE, demo.num_frames))
            yield {name: images.read(frames) for name, images in demo.cameras.items()}
            done(count := count + len(frames))
