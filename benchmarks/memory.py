"""`python -m benchmarks.memory --out DIR`: our memory on disk beside two others, in one run.

Draw (choose 64 frames), batch (choose, fetch, decode and stack them), fill, open, and bytes per
frame; against lists of decoded samples as AlphaBrain keeps them, TorchRL's replay buffer over
tensors in memory-mapped files, and a uniform draw over our own store. From a thousand to a million
frames, from ten to a hundred thousand phases. Systems take turns; times are medians of the turns,
CPU time of the one thread, with files in the page cache. Frames by the hundred thousand are tiny,
so that disk and memory stay below 2 GB.
"""

import argparse
import gc
import importlib.util
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.interleaved import Ratio, Work, seconds_per_call
from benchmarks.memory_contents import Content, Layout, recorded, tiny
from benchmarks.memory_opening import opening
from benchmarks.memory_systems import DecodedLists, PhaserStore, System, TorchRLMemmap
from benchmarks.memory_tables import markdown
from benchmarks.publishing import publish
from phaser.routing.routed import Routed

RECORDED = ((1_000, 10), (10_000, 100))
TINY = (
    (1_000, 10),
    (10_000, 100),
    (100_000, 1_000),
    (1_000_000, 10),
    (1_000_000, 1_000),
    (1_000_000, 100_000),
)
UNIFORM = "phaser, uniform draw"
WITHOUT_TORCHRL = (
    "TorchRL is not installed, so its column is left out; it is needed for this benchmark only: "
    "pip install --no-deps torchrl 'tensordict<0.15' pyvers hoptorch orjson"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("memory"), help="two files in here")
    parser.add_argument("--largest", type=int, default=1_000_000, help="fewer frames, to try")
    parser.add_argument("--rounds", type=int, default=41)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if not _has_torchrl():
        print(WITHOUT_TORCHRL, flush=True)
    rows = [
        measured(make(), Layout(num_frames=frames, num_phases=phases), rounds=chosen.rounds)
        for make, sizes in ((recorded, RECORDED), (tiny, TINY))
        for frames, phases in sizes
        if frames <= chosen.largest
    ]
    found = {"versions": _versions(), "rows": rows}
    publish(chosen.out, "memory", found, markdown(rows))


def measured(content: Content, layout: Layout, *, rounds: int) -> dict[str, Any]:
    """One size: all systems filled with the same frames, then asked in turns."""
    with tempfile.TemporaryDirectory(prefix="phaser-benchmark-") as folder:
        systems = _systems(Path(folder), content)
        ours = systems[0]
        filled = {
            system.name: _seconds(lambda s=system: s.fill(layout, content)) for system in systems
        }
        first = {one.name: opening(one.folder) for one in systems if isinstance(one, PhaserStore)}
        opened = seconds_per_call(
            {one.name: lambda _, s=one: s.open() for one in systems}, rounds=5
        )
        stores = [one for one in systems if isinstance(one, PhaserStore)]
        phases = [len(one.store.memory.buckets) for one in stores]  # listed before the clock runs
        scored = _seconds(lambda: ours.sampler(Routed()))
        for one in stores:
            one.prepare()
        row = {
            "content": content.name,
            "frames": layout.num_tasks * layout.frames_per_task,
            "phases": phases[0],
            "tasks": layout.num_tasks,
            "fill_s": filled,
            "open_s": {name: float(np.median(times)) for name, times in opened.items()},
            "first_open": first,
            "score_s": scored,
            "bytes_per_frame": {
                one.name: one.num_bytes() / (layout.num_tasks * layout.frames_per_task)
                for one in systems
            },
            "draw": _compared(_draws(systems, ours), rounds=rounds, calls=20),
            "batch": _compared(_batches(systems, ours), rounds=rounds, calls=1),
        }
    del systems, ours
    gc.collect()
    print(f"{content.name}: {row['frames']} frames, {row['phases']} phases done", flush=True)
    return row


def _systems(folder: Path, content: Content) -> list[Any]:
    codecs = ("png", "webp-lossless", "raw") if content.language_size > 100 else ("raw",)
    systems: list[Any] = [PhaserStore(folder / codec, codec) for codec in codecs]
    systems.append(DecodedLists())
    if _has_torchrl():
        systems.append(TorchRLMemmap(folder / "torchrl"))
    return systems


def _draws(systems: Sequence[System], ours: PhaserStore) -> dict[str, Work]:
    """Which frames a step rehearses. One of our folders is enough: the codec plays no part."""
    others = [one for one in systems if not isinstance(one, PhaserStore)]
    return {
        UNIFORM: ours.choose_uniformly,
        "phaser, routed draw": ours.choose,
        **{one.name: one.choose for one in others},
    }


def _batches(systems: Sequence[System], ours: PhaserStore) -> dict[str, Work]:
    """Their content, decoded and in memory."""
    return {
        UNIFORM: lambda step: ours.fetch(ours.choose_uniformly(step)),
        **{one.name: lambda step, s=one: s.fetch(s.choose(step)) for one in systems},
    }


def _compared(works: Mapping[str, Work], *, rounds: int, calls: int) -> dict[str, Any]:
    taken = seconds_per_call(works, rounds=rounds, calls=calls)
    return {
        name: {
            "us": 1e6 * float(np.median(times)),
            "ratio": asdict(Ratio.of(times, taken[UNIFORM])),
        }
        for name, times in taken.items()
    }


def _seconds(work: Any) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _has_torchrl() -> bool:
    return importlib.util.find_spec("torchrl") is not None


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    names = ["numpy", "torch", "pillow", *(["torchrl", "tensordict"] if _has_torchrl() else [])]
    return {name: version(name) for name in names}


if __name__ == "__main__":
    main()
