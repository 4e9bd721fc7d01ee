"""`python -m benchmarks.memory_growth --out DIR`: what a small task costs as a memory grows.

One process keeps thousands of small tasks one after the other through `phaser.Replay`: begin (read
the actions, find phases, score all stored phases, choose frames) and end (write and sync a shard
and the manifest). Costs are means over the tasks around 10, 100, 1,000 and 10,000. Then one memory
of a million frames, in ten to a hundred thousand phases, is opened by a process of its own.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory_contents import Layout, tiny
from benchmarks.memory_systems import PhaserStore
from benchmarks.publishing import publish
from phaser import ActionLayout, Replay
from phaser.memory.store import Store

LENGTHS = (12, 15)
AROUND = 10
"""Tasks that a cost is the mean of."""
OPENED = ((1_000_000, 10), (1_000_000, 1_000), (1_000_000, 100_000))
OPEN = """
import sys, time
from phaser.memory.store import Store
begin = time.perf_counter()
store = Store.open(sys.argv[1])
print(time.perf_counter() - begin, store.num_frames)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("memory-growth"), help="two files in here")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--largest", type=int, default=1_000_000, help="fewer frames, to try")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="phaser-benchmark-") as folder:
        grown = growth(Path(folder) / "grown", chosen.tasks)
        opened = [
            opening(Path(folder) / f"{frames}-{phases}", frames=frames, phases=phases)
            for frames, phases in OPENED
            if frames <= chosen.largest
        ]
    publish(
        chosen.out, "memory-growth", {"growth": grown, "opening": opened}, markdown(grown, opened)
    )


class SmallTask:
    """Two short demonstrations without images: a reach and a carry."""

    layout = ActionLayout(motion=(0, 1, 2), gripper=(3,))

    def __init__(self, number: int) -> None:
        rng = np.random.default_rng(number)
        self._columns = {
            "episode_index": np.repeat(np.arange(len(LENGTHS)), LENGTHS),
            "frame_index": np.concatenate([np.arange(length) for length in LENGTHS]),
            "action": np.concatenate([_actions(length, rng) for length in LENGTHS]),
        }

    def column(self, name: str) -> np.ndarray:
        return self._columns[name]

    def __len__(self) -> int:
        return sum(LENGTHS)

    def __getitem__(self, row: int) -> dict[str, Any]:
        return {name: values[row] for name, values in self._columns.items()}


def growth(folder: Path, num_tasks: int) -> list[dict[str, float]]:
    """Begin and end that many tasks; the costs around every power of ten."""
    from phaser import Columns

    replay = Replay(folder, budget=8, language=_language, columns=Columns(images=()))
    begins, ends, cpu = (np.zeros(num_tasks) for _ in range(3))
    start = time.perf_counter()
    rows: list[dict[str, float]] = []
    for number in range(num_tasks):
        demos = SmallTask(number)
        before, processor = time.perf_counter(), time.process_time()
        task = replay.task(demos, instruction=f"small task {number}")
        begun = time.perf_counter()
        task.finish()
        begins[number] = begun - before
        ends[number] = time.perf_counter() - begun
        cpu[number] = time.process_time() - processor
        if number + 1 in (10, 100, 1_000, 3_000, num_tasks):
            at = slice(max(0, number + 1 - AROUND), number + 1)
            row = {
                "tasks": number + 1,
                "begin_ms": 1e3 * float(begins[at].mean()),
                "end_ms": 1e3 * float(ends[at].mean()),
                "cpu_ms": 1e3 * float(cpu[at].mean()),
                "total_s": time.perf_counter() - start,
            }
            rows.append(row)
            print(" ".join(f"{name} {value:.1f}" for name, value in row.items()), flush=True)
    assert Store.open(folder).manifest.num_tasks == num_tasks
    return rows


def opening(folder: Path, *, frames: int, phases: int) -> dict[str, float]:
    """Fill a memory; how long a new process takes to open it, the median of five."""
    system = PhaserStore(folder, "raw")
    layout = Layout(num_frames=frames, num_phases=phases)
    system.fill(layout, tiny())
    taken = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", OPEN, str(folder)], capture_output=True, text=True, check=True
        )
        seconds, found = done.stdout.split()
        assert int(found) == layout.num_tasks * layout.frames_per_task
        taken.append(float(seconds))
    row = {"frames": frames, "phases": phases, "open_ms": 1e3 * float(np.median(taken))}
    print(" ".join(f"{name} {value:.1f}" for name, value in row.items()), flush=True)
    return row


def markdown(grown: list[dict[str, float]], opened: list[dict[str, float]]) -> str:
    lines = ["| tasks stored | begin | end | of both on the processor | all tasks so far |"]
    lines += ["|---|---|---|---|---|"]
    lines += [
        f"| {row['tasks']:,} | {row['begin_ms']:.1f} ms | {row['end_ms']:.1f} ms | "
        f"{row['cpu_ms']:.1f} ms | {row['total_s']:.0f} s |"
        for row in grown
    ]
    lines += ["", "| frames | phases | opened by a new process in |", "|---|---|---|"]
    lines += [
        f"| {row['frames']:,} | {row['phases']:,} | {row['open_ms']:.1f} ms |" for row in opened
    ]
    return "\n".join(lines) + "\n"


def _actions(length: int, rng: np.random.Generator) -> np.ndarray:
    half = length // 2
    ways = rng.normal(size=(2, 3)) * 0.5
    first = np.tile([*ways[0], -1.0], (half, 1))
    second = np.tile([*ways[1], 1.0], (length - half, 1))
    return np.concatenate([first, second]).astype(np.float32)


def _language(text: str) -> np.ndarray:
    vector = np.zeros(32)
    for word in text.split():
        vector[sum(word.encode()) % 32] += 1
    return vector


if __name__ == "__main__":
    main()
