"""From a suite's task to what a method and a policy need: features, phases, prototypes, frames.

Everything expensive is done once per recording and kept in the cache: demonstrations by the suite,
frozen features here. `prefetch` does that for many tasks in parallel; whoever needs a task that is
being prepared elsewhere waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
import torch

from phaser.core.demonstration import Demo, Task
from phaser.core.memory import PreparedTask
from phaser.core.segmentation import Segmentation
from phaser.core.streams import Streams
from phaser.encoders.feature_cache import cached_features
from phaser.experiments.run import AnySuite, Run
from phaser.policies.tiny import Tiny, TinyPolicy
from phaser.routing.prototypes import prototypes
from phaser.training.frames import TaskFrames

SPLITS = ("train", "heldout")
SUMMARY = "summary"
"""The name under which one visual vector per frame is cached beside the policy's inputs."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskMaterial:
    """One task, ready to be learnt and measured."""

    prepared: PreparedTask
    train: TaskFrames
    heldout: TaskFrames
    heldout_segmentations: tuple[Segmentation, ...]
    images_sha256: Mapping[str, str]
    """Of the recordings of each split: what a resumed run compares."""


def material(run: Run, task: Task, policy: TinyPolicy) -> TaskMaterial:
    """Read, encode and cut one task's demonstrations."""
    frames: dict[str, TaskFrames] = {}
    summaries: dict[str, np.ndarray] = {}
    demos = {split: run.suite.demos(task, split) for split in SPLITS}
    language = policy.embed(task.instruction)
    hashes = {split: run.suite.images_sha256(task, split) for split in SPLITS}
    for split in SPLITS:
        features = dict(_features(run.suite, hashes[split], demos[split], policy))
        summaries[split] = features.pop(SUMMARY)
        frames[split] = TaskFrames.of(
            demos[split],
            features,
            language=language,
            chunk_length=policy.settings.chunk_length,
        )
    # Held-out demonstrations are cut along with the others, so that their phases mean the same.
    everything = run.segmenter_of(task.name).segment([*demos["train"], *demos["heldout"]])
    train_cut = everything[: len(demos["train"])]
    offsets = frames["train"].offsets

    def frame_features(demo: Demo) -> np.ndarray:
        start = offsets[demo.index]
        return summaries["train"][start : start + demo.num_frames]

    prepared = PreparedTask(
        task=task,
        demos=demos["train"],
        segmentations=train_cut,
        prototypes=prototypes(
            demos["train"],
            train_cut,
            instruction_embedding=language,
            frame_features=frame_features,
        ),
        features=frame_features,
    )
    return TaskMaterial(
        prepared=prepared,
        train=frames["train"],
        heldout=frames["heldout"],
        heldout_segmentations=everything[len(demos["train"]) :],
        images_sha256=hashes,
    )


def prefetch(
    suite: AnySuite,
    policy: Tiny,
    tasks: Sequence[Task],
    ready: Callable[[Task], None],
    *,
    num_workers: int = 2,
) -> None:
    """Record and encode tasks in parallel processes; `ready` is called as each one is done."""
    with ProcessPoolExecutor(num_workers, mp_context=get_context("spawn")) as pool:
        jobs = {pool.submit(_prepare_task, suite, policy, task): task for task in tasks}
        for job in as_completed(jobs):
            job.result()
            ready(jobs[job])


def _prepare_task(suite: AnySuite, settings: Tiny, task: Task) -> None:
    torch.set_num_threads(1)
    policy = settings.build(suite.contract, Streams(0).named("prefetch"))
    for split in SPLITS:
        _features(suite, suite.images_sha256(task, split), suite.demos(task, split), policy)


def _features(
    suite: AnySuite, images_sha256: str, demos: Sequence[Demo], policy: TinyPolicy
) -> dict[str, np.ndarray]:
    def compute() -> dict[str, np.ndarray]:
        parts = [policy.frame_inputs(_images(demo)) for demo in demos]
        inputs = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {**inputs, SUMMARY: policy.summarise(inputs)}

    key = (policy.inputs_identity, images_sha256)
    return cached_features(key, compute, suite.cache / "features")


def _images(demo: Demo) -> dict[str, np.ndarray]:
    return {name: images.read(range(demo.num_frames)) for name, images in demo.cameras.items()}
