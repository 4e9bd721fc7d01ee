"""Which file format and which image codec a memory uses: measured on recorded frames.

    python -m benchmarks.memory_formats

A shard of encoded frames as safetensors (ours), through the safetensors library, and as Arrow IPC
(`pyarrow`, memory-mapped): time to open it, to open and validate it, and to read 64 frames at
random; bytes. Then codecs on frames of recorded Meta-World demonstrations, 96 pixels and 256.
"""

import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image
from safetensors import safe_open

from benchmarks.timing import best_cpu_ms, print_ratios
from phaser.core.demonstration import FrameRef, Task
from phaser.core.memory import Bucket, PhaseId, Prototype
from phaser.memory.codecs import ImageCodec
from phaser.memory.sample import NewTask
from phaser.memory.store import Store
from phaser.suites.metaworld.suite import MetaWorld

FRAMES = 20_000
BATCH = 64
TASKS = ("hammer", "drawer-open", "stick-push", "drawer-close")
FRAMES_PER_TASK = 12


def main() -> None:
    frames = recorded_frames()
    with tempfile.TemporaryDirectory() as folder:
        compare_formats(Path(folder), frames)
    for side in (96, 256):
        compare_codecs([resized(frame, side) for frame in frames], side)


def recorded_frames() -> list[np.ndarray]:
    """Frames spread over demonstrations of several tasks, both cameras."""
    suite = MetaWorld()
    found: list[np.ndarray] = []
    for task in (task for task in suite.tasks() if task.name in TASKS):
        for demo in suite.demos(task, "train")[:3]:
            at = np.linspace(0, demo.num_frames - 1, FRAMES_PER_TASK // 3).astype(int).tolist()
            for images in demo.cameras.values():
                found += list(images.read(at))
    return found


def resized(pixels: np.ndarray, side: int) -> np.ndarray:
    return np.array(Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC))


def compare_formats(folder: Path, frames: list[np.ndarray]) -> None:
    """The same encoded frames and states in both formats; images stay encoded when read."""
    rng = np.random.default_rng(0)
    coded = [ImageCodec.parse("png").encode(frame) for frame in frames]
    states = rng.normal(size=(FRAMES, 39)).astype(np.float32)
    blobs = [coded[row % len(coded)] for row in range(FRAMES)]
    store = _as_store(folder / "memory", blobs, states)
    shard = folder / "memory/tasks" / store.tasks[0].shard
    arrow = _as_arrow(folder / "memory.arrow", blobs, states)
    refs = [FrameRef("task", 0, int(row)) for row in rng.integers(0, FRAMES, BATCH)]
    table = _open_arrow(arrow)
    opened = {
        "safetensors, ours (all of its checks)": lambda: Store.open(folder / "memory").shard(
            "task"
        ),
        "safetensors library": lambda: safe_open(shard, "numpy").keys(),
        "Arrow IPC, as it is": lambda: _open_arrow(arrow),
        "Arrow IPC, validated": lambda: _open_arrow(arrow).validate(full=True),
    }
    title = f"Open a shard of {FRAMES} frames"
    print_ratios(title, best_cpu_ms(opened, repetitions=10), baseline="Arrow IPC, validated")
    read: dict[str, Callable[[], object]] = {
        "safetensors, ours": lambda: store.read(refs),
        "Arrow IPC, rows one by one": lambda: [_arrow_row(table, ref.frame) for ref in refs],
        "Arrow IPC, take": lambda: table.take([ref.frame for ref in refs]).to_pylist(),
    }
    print_ratios(
        f"Read {BATCH} frames at random, images left encoded",
        best_cpu_ms(read, repetitions=20),
        baseline="Arrow IPC, rows one by one",
    )
    ours, theirs = shard.stat().st_size, arrow.stat().st_size
    print(f"\nBytes per frame: safetensors {ours / FRAMES:.0f}, Arrow IPC {theirs / FRAMES:.0f}")


def compare_codecs(frames: list[np.ndarray], side: int) -> None:
    """Bytes, encoding and decoding per frame; the first is the baseline."""
    print(f"\n{len(frames)} recorded frames of {side} pixels, per frame")
    raw_bytes = frames[0].nbytes
    for name, encode, decode in _codecs():
        contents = [encode(frame) for frame in frames]
        times = best_cpu_ms(
            {
                "encode": lambda encode=encode: [encode(frame) for frame in frames],
                "decode": lambda decode=decode, made=contents: [decode(one) for one in made],
            },
            repetitions=3,
        )
        size = float(np.mean([len(content) for content in contents]))
        error = np.mean(
            [
                np.abs(decode(c).astype(int) - f).mean()
                for c, f in zip(contents, frames, strict=True)
            ]
        )
        print(
            f"  {name:24} {size:9.0f} bytes {raw_bytes / size:6.1f} × smaller"
            f"  encode {times['encode'] / len(frames):7.3f} ms"
            f"  decode {times['decode'] / len(frames):6.3f} ms  mean error {error:5.2f} of 255"
        )


def _codecs() -> list[tuple[str, Callable[[np.ndarray], bytes], Callable[[bytes], np.ndarray]]]:
    def saved(kind: str, **options: object) -> Callable[[np.ndarray], bytes]:
        def encode(pixels: np.ndarray) -> bytes:
            stream = io.BytesIO()
            Image.fromarray(pixels).save(stream, kind, **options)
            return stream.getvalue()

        return encode

    ways = [(f"png, level {level}", saved("PNG", compress_level=level)) for level in (1, 3, 6, 9)]
    ways += [
        (f"webp lossless, method {method}", saved("WEBP", lossless=True, quality=0, method=method))
        for method in (0, 1, 4)
    ]
    ways += [
        ("jpeg 95, 4:4:4", saved("JPEG", quality=95, subsampling=0)),
        ("jpeg 95, 4:2:0", saved("JPEG", quality=95, subsampling=2)),
        ("jpeg 90, 4:4:4", saved("JPEG", quality=90, subsampling=0)),
        ("webp 90, method 1", saved("WEBP", quality=90, method=1)),
        ("webp 90, method 4", saved("WEBP", quality=90, method=4)),
    ]
    return [
        (name, encode, lambda content: np.array(Image.open(io.BytesIO(content))))
        for name, encode in ways
    ]


def _as_store(folder: Path, blobs: list[bytes], states: np.ndarray) -> Store:
    prototype = Prototype(
        language=np.zeros(384, np.float32),
        vision=np.zeros(1280, np.float32),
        action=np.zeros(4, np.float32),
        motion=(0, 1, 2),
    )
    frames = tuple(FrameRef("task", 0, row) for row in range(len(blobs)))
    bucket = Bucket(phase=PhaseId("task", 0, "all"), frames=frames, prototype=prototype)
    new = NewTask(
        task=Task(name="task", instruction="measure"),
        buckets=[bucket],
        sample_of=lambda ref: {"image": blobs[ref.frame], "state": states[ref.frame]},
        source={},
    )
    return Store.create(folder, about={}).add(new, ImageCodec())


def _as_arrow(path: Path, blobs: list[bytes], states: np.ndarray) -> Path:
    rows = len(blobs)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(states.ravel()), states.shape[1])
    columns = {
        "image": pa.array(blobs, pa.large_binary()),
        "state": flat,
        "demo": pa.array(np.zeros(rows, np.int32)),
        "frame": pa.array(np.arange(rows, dtype=np.int32)),
        "phase": pa.array(np.zeros(rows, np.int32)),
    }
    table = pa.table(columns)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return path


def _open_arrow(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def _arrow_row(table: pa.Table, row: int) -> dict[str, object]:
    return {
        "image": table["image"][row].as_py(),
        "state": np.array(table["state"][row].values),
    }


if __name__ == "__main__":
    main()
