"""`python -m benchmarks.memory_clips --out DIR`: how much smaller are kept frames as video clips?

The frames that PHASER keeps of Meta-World tasks, or of a LeRobot dataset (`--dataset`), as the
memory stores them: single images, and clips (`h264:90`) whose frames follow each other by rank.
Beside them stand other ways to make clips (`--others`), of frames in order of time. Measured are
bytes per frame, containers left out, the error of the pixels, the time to write one frame and the
time to read one: of a clip all frames up to it have to be decoded.
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
from phaser.demos.video_library import video_library
from phaser.experiments.presets import preset
from phaser.memory.clips import CLIP_FRAMES as MEMORY_CLIP
from phaser.memory.clips import ClipEncoder
from phaser.memory.codecs import ImageCodec
from phaser.methods.table import METHODS
from phaser.phases.autopc import AutoPC
from phaser.routing.prototypes import prototypes

IMAGES = ("webp-lossless", "webp:95", "webp:90", "avif:80")
OWN_CLIPS = ("h264:95", "h264:90", "h264:75", "h264:50")
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
    parser.add_argument("--others", action="store_true", help="other encoders and lengths too")
    parser.add_argument("--dataset", type=Path, help="a LeRobot folder instead, all of it one task")
    parser.add_argument("--layout", help="what its action numbers do, by name")
    chosen = parser.parse_args()
    rows = list(measured(chosen))
    publish(chosen.out, "memory_clips", {"rows": rows}, markdown(rows))


def measured(chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for budget in (*chosen.budgets, NEIGHBOURS):
        kept = [one for demos in _tasks(chosen) for one in kept_images(demos, budget)]
        episodes = [images for images, _ in kept]
        for name in IMAGES:
            yield {"budget": budget, "form": name, **single_images(episodes, name)}
        for name in OWN_CLIPS:
            by_rank = [images[np.argsort(ranks, kind="stable")] for images, ranks in kept]
            yield {"budget": budget, "form": name, **own_clips(by_rank, name)}
        for name, form in CLIPS.items() if chosen.others else ():
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


def kept_images(
    demos: Sequence[Demo], budget: int | str
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The images that PHASER keeps of a task, one array per episode and camera, in time's order,
    and their ranks."""
    if isinstance(budget, str):
        for demo in demos[:SOME_EPISODES]:
            first = range(min(FIRST_FRAMES, demo.num_frames))
            yield from ((camera.read(first), np.array(first)) for camera in demo.cameras.values())
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
    rank_of = {
        ref: rank for one in buckets for ref, rank in zip(one.frames, one.ranks, strict=True)
    }
    refs = sorted(rank_of)
    by_index = {demo.index: demo for demo in demos}
    for index, mine in groupby(refs, key=lambda ref: ref.demo):
        frames = list(mine)
        ranks = np.array([rank_of[ref] for ref in frames])
        for camera in by_index[index].cameras.values():
            yield camera.read([ref.frame for ref in frames]), ranks


def single_images(episodes: Sequence[np.ndarray], name: str) -> dict[str, Any]:
    codec = ImageCodec.parse(name)
    images = [image for episode in episodes for image in episode]
    begin = time.perf_counter()
    coded = [codec.encode(image) for image in images]
    write_s = time.perf_counter() - begin
    decoded = [codec.decode(one, images[0].shape, "it") for one in coded]

    def read(number: int) -> None:
        codec.decode(coded[number], images[0].shape, "it")

    return {
        "bytes": float(np.mean([len(one) for one in coded])),
        **_errors(images, decoded),
        "write_ms": 1000 * write_s / len(images),
        "read_ms": _read_ms(read, len(images)),
    }


def own_clips(episodes: Sequence[np.ndarray], name: str) -> dict[str, Any]:
    """As the memory does it; bytes with the length that it writes before each packet."""
    codec = ImageCodec.parse(name)
    parts = [
        episode[start : start + MEMORY_CLIP]
        for episode in episodes
        for start in range(0, len(episode), MEMORY_CLIP)
    ]
    begin = time.perf_counter()
    coded = []
    for part in parts:
        encoder = ClipEncoder(part[0].shape, quality=codec.quality)
        coded.append([encoder.add(image) for image in part])
    write_s = time.perf_counter() - begin
    images = [image for part in parts for image in part]
    upto = [b"".join(clip[: at + 1]) for clip in coded for at in range(len(clip))]
    decoded = [codec.decode(content, images[0].shape, "it") for content in upto]

    def read(number: int) -> None:
        codec.decode(upto[number], images[0].shape, "it")

    return {
        "bytes": sum(len(packet) for clip in coded for packet in clip) / len(images),
        **_errors(images, decoded),
        "write_ms": 1000 * write_s / len(images),
        "read_ms": _read_ms(read, len(images)),
    }


def clips(episodes: Sequence[np.ndarray], form: ClipForm, length: int) -> dict[str, Any]:
    parts = [
        episode[start : start + length]
        for episode in episodes
        for start in range(0, len(episode), length)
    ]
    begin = time.perf_counter()
    coded = [encoded(part, form) for part in parts]
    write_s = time.perf_counter() - begin
    decoded = [image for packets in coded for image in decoded_clip(packets, form)]
    images = [image for part in parts for image in part]
    places = [(clip, at) for clip, part in enumerate(parts) for at in range(len(part))]

    def read(number: int) -> None:
        clip, at = places[number]
        decoded_clip(coded[clip][: at + 1], form)

    return {
        "bytes": sum(len(packet) for packets in coded for packet in packets) / len(images),
        **_errors(images, decoded),
        "write_ms": 1000 * write_s / len(images),
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


def _errors(images: Sequence[np.ndarray], decoded: Sequence[np.ndarray]) -> dict[str, Any]:
    """Mean difference of a pixel's number, of 255, and the peak signal-to-noise ratio in dB, which
    images without a difference do not have."""
    apart = [one.astype(int) - other for one, other in zip(images, decoded, strict=True)]
    squared = float(np.mean([(one**2).mean() for one in apart]))
    decibels = float(10 * np.log10(255**2 / squared)) if squared else None
    return {"error": float(np.mean([np.abs(one).mean() for one in apart])), "dB": decibels}


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
        "| kept per task | form | bytes per frame | against webp-lossless | error | dB "
        "| write one | read one |",
        "|---|---|---|---|---|---|---|---|",
    ]
    alone = {row["budget"]: row["bytes"] for row in rows if row["form"] == "webp-lossless"}
    for row in rows:
        lines.append(
            f"| {row['budget']} | {row['form']} | {row['bytes']:.0f} "
            f"| {row['bytes'] / alone[row['budget']]:.2f} | {row['error']:.2f} "
            f"| {'–' if row['dB'] is None else format(row['dB'], '.1f')} "
            f"| {row['write_ms']:.1f} ms | {row['read_ms']:.1f} ms |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
