"""`python -m benchmarks.memory_codecs --out DIR`: what storing images in fewer bytes costs.

Pairs of Meta-World tasks: a task is learnt from its demonstrations and leaves PHASER's frames; the
frames then pass through a codec, and the next task is learnt while they are rehearsed. Measured is
the loss on held-out demonstrations of the first task, whose pixels no codec has touched, as a
ratio to 20 frames kept as they were: once with as many frames, once with as many bytes as those
20 take in PNG. Beside it size and speed of each codec.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from benchmarks.interleaved import Ratio, seconds_per_call
from benchmarks.publishing import publish
from phaser.core.demonstration import Demo, FrameRef, Task
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.experiments.allocator import keep_freed_memory
from phaser.experiments.prepare import Preparation
from phaser.experiments.presets import preset
from phaser.experiments.run import Run
from phaser.memory.codecs import ImageCodec
from phaser.methods.table import METHODS
from phaser.policies.tiny.policy import TinyPolicy
from phaser.routing.nothing import NoDraw
from phaser.training.frames import FrameTable, TaskFrames
from phaser.training.learner import PolicyLearner
from phaser.training.material import TaskMaterial
from phaser.training.probe import PolicyProbe

RAW, PNG = "raw", "png"
LOSSLESS = (PNG, "webp-lossless")
LOSSY = ("jpeg:95", "jpeg:75", "webp:95", "webp:75", "webp:25", "avif:90", "avif:80", "avif:60")
KEPT = 20
SPEED_IMAGES, SPEED_ROUNDS = 64, 15

Losses = dict[str, dict[str, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("memory-codecs"), help="two files in here")
    parser.add_argument("--pairs", type=int, default=5, help="of neighbouring tasks")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--codecs", nargs="+", default=LOSSY, help="lossy ones to measure")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    found = measure(pairs=chosen.pairs, seeds=chosen.seeds, lossy=chosen.codecs)
    publish(chosen.out, "memory_codecs", found, markdown(found))


def measure(*, pairs: int, seeds: int, lossy: Sequence[str] = LOSSY) -> dict[str, Any]:
    run = preset("metaworld-10")
    tasks = run.suite.tasks()
    images = _images(run.suite.demos(tasks[0], "train"), SPEED_IMAGES)
    sizes = sizes_of(images, lossy)
    trials = [
        trial(replace(run, seed=seed), tasks[first : first + 2], sizes)
        for seed in range(seeds)
        for first in range(0, 2 * pairs, 2)
    ]
    return summary(trials, images)


def trial(run: Run, tasks: Sequence[Task], sizes: dict[str, float]) -> Losses:
    """Losses of one pair of tasks and one seed, by codec, at equal frames and at equal bytes."""
    pair = Pair.of(run, tasks)
    lossy = [codec for codec in sizes if codec not in (RAW, *LOSSLESS)]
    same_frames = {codec: pair.loss_after(codec, KEPT) for codec in (RAW, *lossy)}
    same_bytes = {
        codec: pair.loss_after(codec if codec in lossy else RAW, _as_many_bytes(sizes, codec))
        for codec in (RAW, "webp-lossless", *lossy)
    }
    # Lossless codecs give back the same pixels: the same training, not run twice.
    found = {"frames": same_frames, "bytes": same_bytes | {PNG: same_frames[RAW]}}
    print({kind: {k: round(v, 4) for k, v in one.items()} for kind, one in found.items()})
    return found


def summary(trials: Sequence[Losses], images: np.ndarray) -> dict[str, Any]:
    baseline = [one["frames"][RAW] for one in trials]
    sizes = sizes_of(images, [codec for codec in trials[0]["frames"] if codec != RAW])
    return {
        "trials": list(trials),
        "pixels": list(images.shape[1:]),
        "frames_at_equal_bytes": {codec: _as_many_bytes(sizes, codec) for codec in sizes},
        "ratio": {
            kind: {
                codec: asdict(Ratio.of([one[kind][codec] for one in trials], baseline))
                for codec in trials[0][kind]
            }
            for kind in ("frames", "bytes")
        },
        "cost": cost(images, [codec for codec in sizes if codec != RAW]),
    }


def sizes_of(images: np.ndarray, lossy: Sequence[str] = LOSSY) -> dict[str, float]:
    """Mean bytes of an image."""
    sizes = {RAW: float(images[0].nbytes)}
    for name in (*LOSSLESS, *lossy):
        codec = ImageCodec.parse(name)
        sizes[name] = float(np.mean([len(codec.encode(image)) for image in images]))
    return sizes


def _as_many_bytes(sizes: dict[str, float], codec: str) -> int:
    return round(KEPT * sizes[PNG] / sizes[codec])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Pair:
    """One pair of tasks and one seed: the first is learnt, the second waits."""

    learner: PolicyLearner
    past: TaskMaterial
    current: TaskMaterial
    learnt: dict[str, torch.Tensor]

    @classmethod
    def of(cls, run: Run, tasks: Sequence[Task]) -> "Pair":
        streams = Streams(run.seed)
        policy = run.policy.build(run.suite.contract, streams.named("weights"))
        preparation = Preparation.of(
            run.suite, run.policy, run.encoders, chunk_length=policy.contract["chunk_length"]
        )
        past, current = (preparation.material(task, run.segmenter_of(task.name)) for task in tasks)
        name = past.prepared.task.name
        learner = PolicyLearner(
            policy=policy,
            frames=FrameTable({name: past.train, current.prepared.task.name: current.train}),
            fit=run.fit,
            streams=streams,
            accelerator=Accelerator(cpu=True),
        )
        probe = PolicyProbe(learner=learner, task=name)
        nothing = NoDraw().for_task(Memory(), past.prepared, streams.named("draw"), probe)
        learner.learn(past.prepared, nothing)
        weights = {name: value.clone() for name, value in policy.trained_state().items()}
        return cls(
            learner=learner,
            past=past,
            current=current,
            learnt=weights,
        )

    def loss_after(self, codec: str, num_frames: int) -> float:
        """Held-out loss of the first task after the second, rehearsed through the codec."""
        memory = self._kept(num_frames)
        learner, name = self.learner, self.past.prepared.task.name
        learner.policy.load_trained_state(self.learnt)
        learner.frames.tasks[name] = self._through(codec, memory)
        current = self.current.prepared
        draw = learner.streams.named("draw", current.task.name)
        probe = PolicyProbe(learner=learner, task=current.task.name)
        sampler = METHODS["phaser"].draw.for_task(memory, current, draw, probe)
        learner.learn(current, sampler)
        heldout = self.past.heldout.frames
        unseen = replace(learner, frames=FrameTable({name: heldout}))
        return float(unseen.frame_losses(heldout.refs(name)).mean())

    def _kept(self, num_frames: int) -> Memory:
        task = self.past.prepared
        stream = self.learner.streams.named("keep", task.task.name)
        return Memory(tuple(METHODS["phaser"].keep.select(task, num_frames, stream)))

    def _through(self, codec: str, memory: Memory) -> TaskFrames:
        """The first task's frames, the kept ones as the policy sees them after the codec."""
        if codec == RAW:
            return self.past.train
        images = {name: np.array(rows) for name, rows in self.past.train.images.items()}
        demos = {demo.index: demo for demo in self.past.prepared.demos}
        for ref in (ref for bucket in memory.buckets for ref in bucket.frames):
            seen = _seen(self.learner.policy, demos[ref.demo], ref, ImageCodec.parse(codec))
            for name, rows in seen.items():
                images[name][self.past.train.row(ref)] = rows[0]
        return replace(self.past.train, images=images)


def _seen(
    policy: TinyPolicy, demo: Demo, ref: FrameRef, codec: ImageCodec
) -> dict[str, np.ndarray]:
    images = {name: camera.read([ref.frame]) for name, camera in demo.cameras.items()}
    return policy.front_end({name: _coded(one[0], codec)[None] for name, one in images.items()})


def _coded(pixels: np.ndarray, codec: ImageCodec) -> np.ndarray:
    return codec.decode(codec.encode(pixels), pixels.shape, "the image")


def _images(demos: Sequence[Demo], count: int) -> np.ndarray:
    """Images from all over the demonstrations, all cameras."""

    def some() -> Iterator[np.ndarray]:
        for number in range(count):
            demo = demos[number % len(demos)]
            frame = number * demo.num_frames // count
            yield from (camera.read([frame])[0] for camera in demo.cameras.values())

    return np.stack(list(some()))


def cost(images: np.ndarray, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Bytes, noise and times of each codec on the same images, which take turns."""
    codecs = {name: ImageCodec.parse(name) for name in names}
    coded = {name: [codec.encode(one) for one in images] for name, codec in codecs.items()}
    count, shape = len(images), images.shape[1:]
    encoding = seconds_per_call(
        {n: lambda k, c=c: c.encode(images[k % count]) for n, c in codecs.items()},
        rounds=SPEED_ROUNDS,
        calls=32,
    )
    decoding = seconds_per_call(
        {
            n: lambda k, c=c, n=n: c.decode(coded[n][k % count], shape, "the image")
            for n, c in codecs.items()
        },
        rounds=SPEED_ROUNDS,
        calls=32,
    )
    return {
        name: {
            "bytes": float(np.mean([len(one) for one in coded[name]])),
            **_decibels(images, codecs[name], coded[name]),
            "encode_us": 1e6 * float(np.median(encoding[name])),
            "decode_us": 1e6 * float(np.median(decoding[name])),
        }
        for name in codecs
    }


def _decibels(images: np.ndarray, codec: ImageCodec, coded: Sequence[bytes]) -> dict[str, float]:
    """Peak signal-to-noise ratio over all images; lossless codecs have none."""
    if codec.lossless:
        return {}
    back = [codec.decode(one, images.shape[1:], "the image") for one in coded]
    error = np.mean((np.stack(back).astype(np.float64) - images) ** 2)
    return {"decibels": float(10 * np.log10(255**2 / error))}


def markdown(found: dict[str, Any]) -> str:
    raw = float(np.prod(found["pixels"]))
    lines = [
        "| codec | bytes per image | against raw | dB | encode | decode "
        f"| loss, {KEPT} frames (95 %) | frames in equal bytes | loss, equal bytes (95 %) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, frames in found["frames_at_equal_bytes"].items():
        cost = found["cost"].get(name, {"bytes": raw})
        speed = [
            f"{cost[key]:.0f} µs" if key in cost else "–" for key in ("encode_us", "decode_us")
        ]
        noise = f"{cost['decibels']:.1f}" if "decibels" in cost else "–"
        lines.append(
            f"| {name} | {cost['bytes']:.0f} | {cost['bytes'] / raw:.2f} "
            f"| {noise} | {' | '.join(speed)} "
            f"| {_effect(found['ratio']['frames'].get(name))} | {frames} "
            f"| {_effect(found['ratio']['bytes'][name])} |"
        )
    return "\n".join([*lines, ""])


def _effect(ratio: dict[str, float] | None) -> str:
    if ratio is None or ratio["low"] == ratio["high"] == 1:
        return "1 (same pixels)"
    return f"{ratio['median']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f})"


if __name__ == "__main__":
    main()
