"""`python -m benchmarks.memory_clips --out DIR`: would kept frames be smaller as video clips?

The frames that PHASER keeps of Meta-World tasks, or of a LeRobot dataset (`--dataset`), are sorted
by episode and time and encoded in clips of a few frames each: every frame but the first of a clip
is predicted from the kept one before it. Beside them stand the codecs of single images that a
memory has. Measured are bytes per frame, containers left out, the error of the pixels, and the
time to read one frame: of a clip all frames up to it have to be decoded.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.publishing import publish
from phaser.core.demonstration import Demo, Task
from phaser.core.memory import PreparedTask
from phaser.core.streams import Streams
from phaser.demos.opening import open_demos
from phaser.demos.video import video_library
from phaser.experiments.presets import preset
from phaser.memory.codecs import ImageCodec
from phaser.methods.table import METHODS
from phaser.phases.autopc import AutoPC
from phaser.routing.prototypes import prototypes

IMAGES = ("webp-lossless", "webp:90", "avif:80")
CLIP_FRAMES = (8, 16)
NEIGHBOURS = "neighbours"
"""Not what PHASER keeps, but the first frames of some episodes, one after the other."""
FIRST_FRAMES, SOME_EPISODES = 32, 4
READS = 48


@dataclass(frozen=True, kw_only=True, slots=True)
class ClipForm:
    """One way to encode a clip: an encoder of FFmpeg, its pixels, its options."""

    encoder: str
    decoder: str
    pixels: str
    options: tuple[tuple[str, str], ...]


_NO_DELAY = (("bf", "0"), ("tune", "zerolatency"))
CLIPS = {
    "H.264 lossless": ClipForm(
        encoder="libx264rgb",
        decoder="h264",
        pixels="rgb24",
        options=(("crf", "0"), *_NO_DELAY),
    ),
    "H.264 4:4:4, crf 18": ClipForm(
        encoder="libx264", decoder="h264", pixels="yuv444p", options=(("crf", "18"), *_NO_DELAY)
    ),
    "AV1 4:2:0, crf 30": ClipForm(
        encoder="libsvtav1",
        decoder="libdav1d",
        pixels="yuv420p",
        options=(("crf", "30"), ("preset", "8"), ("svtav1-params", "pred-struct=1")),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("memory-clips"), help="two files in here")
    parser.add_argument("--budgets", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--tasks", type=int, default=3, help="of Meta-World")
    parser.add_argument("--dataset", type=Path, help="a LeRobot folder instead, all of it one task")
    parser.add_argument("--layout", help="what its action numbers do, by name")
    chosen = parser.parse_args()
    rows = list(measured(chosen))
    publish(chosen.out, "memory_clips", {"rows": rows}, markdown(rows))


def measured(chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for budget in (*chosen.budgets, NEIGHBOURS):
        episodes = [one for demos in _tasks(chosen) for one in kept_images(demos, budget)]
        for name in IMAGES:
            yield {"budget": budget, "form": name, **single_images(episodes, name)}
        for name, form in CLIPS.items():
            for length in CLIP_FRAMES:
                found = clips(episodes, form, length)
                yield {"budget": budget, "form": f"{name}, clips of {length}", **found}


def _tasks(chosen: argparse.Namespace) -> Iterator[Sequence[Demo]]:
    if chosen.dataset is not None:
        yield list(open_demos(chosen.dataset, layout=chosen.layout).all_demos)
        return
    suite = preset("metaworld-10").suite
    for task in suite.tasks()[: chosen.tasks]:
        yield suite.demos(task, "train")


def kept_images(demos: Sequence[Demo], budget: int | str) -> Iterator[np.ndarray]:
    """The images that PHASER keeps of a task, one array per episode and camera, in time's order."""
    if isinstance(budget, str):
        for demo in demos[:SOME_EPISODES]:
            first = range(min(FIRST_FRAMES, demo.num_frames))
            yield from (camera.read(first) for camera in demo.cameras.values())
        return
    segmentations = AutoPC().segment(demos)
    task = PreparedTask(
        task=Task(name=demos[0].task, instruction=demos[0].instruction),
        demos=tuple(demos),
        segmentations=segmentations,
        prototypes=prototypes(
            demos,
            segmentations,
            instruction_embedding=np.zeros(0),
            frame_features=lambda demo: np.zeros((demo.num_frames, 0)),
        ),
    )
    stream = Streams(0).named("keep", demos[0].task)
    buckets = METHODS["phaser"].keep.select(task, budget, stream)
    refs = sorted(ref for bucket in buckets for ref in bucket.frames)
    by_index = {demo.index: demo for demo in demos}
    for index, mine in groupby(refs, key=lambda ref: ref.demo):
        frames = [ref.frame for ref in mine]
        for camera in by_index[index].cameras.values():
            yield camera.read(frames)


def single_images(episodes: Sequence[np.ndarray], name: str) -> dict[str, float]:
    codec = ImageCodec.parse(name)
    images = [image for episode in episodes for image in episode]
    coded = [codec.encode(image) for image in images]
    decoded = [codec.decode(one, images[0].shape, "it") for one in coded]

    def read(number: int) -> None:
        codec.decode(coded[number], images[0].shape, "it")

    return {
        "bytes": float(np.mean([len(one) for one in coded])),
        "error": _error(images, decoded),
        "read_ms": _read_ms(read, len(images)),
    }


def clips(episodes: Sequence[np.ndarray], form: ClipForm, length: int) -> dict[str, float]:
    parts = [
        episode[start : start + length]
        for episode in episodes
        for start in range(0, len(episode), length)
    ]
    coded = [encoded(part, form) for part in parts]
    decoded = [image for packets in coded for image in decoded_clip(packets, form)]
    images = [image for part in parts for image in part]
    places = [(clip, at) for clip, part in enumerate(parts) for at in range(len(part))]

    def read(number: int) -> None:
        clip, at = places[number]
        decoded_clip(coded[clip][: at + 1], form)

    return {
        "bytes": sum(len(packet) for packets in coded for packet in packets) / len(images),
        "error": _error(images, decoded),
        "read_ms": _read_ms(read, len(images)),
    }


def encoded(images: np.ndarray, form: ClipForm) -> list[bytes]:
    """One packet per frame, in order: nothing is predicted from what comes later."""
    av = video_library("a clip")
    context = av.CodecContext.create(form.encoder, "w")
    context.height, context.width = images.shape[1:3]
    context.pix_fmt, context.time_base, context.thread_count = form.pixels, Fraction(1, 10), 1
    context.gop_size = len(images)
    context.options = dict(form.options)
    packets: list[Any] = []
    for number, image in enumerate(images):
        frame = av.VideoFrame.from_ndarray(image, format="rgb24")
        frame.pts = number
        packets += context.encode(frame)
    packets += context.encode(None)
    return [bytes(packet) for packet in sorted(packets, key=lambda one: one.pts)]


def decoded_clip(packets: Sequence[bytes], form: ClipForm) -> list[np.ndarray]:
    av = video_library("a clip")
    context = av.CodecContext.create(form.decoder, "r")
    context.thread_count = 1
    frames = [one for packet in packets for one in context.decode(av.Packet(packet))]
    frames += context.decode(None)
    return [frame.to_ndarray(format="rgb24") for frame in frames]


def _error(images: Sequence[np.ndarray], decoded: Sequence[np.ndarray]) -> float:
    """Mean difference of a pixel's number, of 255."""
    pairs = zip(images, decoded, strict=True)
    return float(np.mean([np.abs(one.astype(int) - other).mean() for one, other in pairs]))


def _read_ms(read: Callable[[int], None], count: int) -> float:
    """Milliseconds to read one frame at random, the median."""
    chance = np.random.default_rng(0)
    taken = []
    for number in chance.integers(count, size=READS):
        begin = time.perf_counter()
        read(int(number))
        taken.append(time.perf_counter() - begin)
    return 1000 * float(np.median(taken))


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| kept per task | form | bytes per frame | against webp-lossless | error | read one |",
        "|---|---|---|---|---|---|",
    ]
    alone = {row["budget"]: row["bytes"] for row in rows if row["form"] == "webp-lossless"}
    for row in rows:
        lines.append(
            f"| {row['budget']} | {row['form']} | {row['bytes']:.0f} "
            f"| {row['bytes'] / alone[row['budget']]:.2f} | {row['error']:.2f} "
            f"| {row['read_ms']:.1f} ms |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
