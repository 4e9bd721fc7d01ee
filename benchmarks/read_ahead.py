"""`python -m benchmarks.read_ahead`: what mixing adds to a training step, read ahead or not.

The step itself is a pause: a processor that waits for its accelerator. Recorded Meta-World frames,
two cameras of 96 pixels, 32 of 64 samples rehearsed.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from phaser import Replay
from phaser.core.files import write_json
from phaser.replay.task import ReplayTask
from phaser.suites.metaworld.suite import MetaWorld

BATCH, STEPS = 64, 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("read-ahead"), help="one file in here")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    rows = [
        measure(codec, pause_s=pause_s)
        for codec in ("webp-lossless", "raw")
        for pause_s in (0.01, 0.05, 0.2)
    ]
    write_json(chosen.out / "read_ahead.json", {"rows": rows})
    print("| codec | step | mixing adds | read ahead, it adds |\n|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['codec']} | {1e3 * row['pause_s']:.0f} ms | "
            f"{row['alone_ms']:.1f} ms | {row['ahead_ms']:.1f} ms |"
        )


def measure(codec: str, *, pause_s: float) -> dict[str, Any]:
    """Both ways in turns, in one process; medians over steps of the time beyond the pause."""
    suite = MetaWorld()
    first, second = suite.tasks()[:2]
    added: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(folder, method="phaser", budget=400, codec=codec)
        with replay.task(suite.demos(first, "train"), instruction=first.instruction):
            pass
        later = suite.demos(second, "train")
        for turn in range(4):
            ahead = bool(turn % 2)
            again = Replay(folder, method="phaser", budget=400, codec=codec, read_ahead=ahead)
            task = again.task(later, instruction=second.instruction, name=f"turn-{turn}")
            added[ahead] += _added(task, pause_s)
    return {
        "codec": codec,
        "pause_s": pause_s,
        "alone_ms": 1e3 * statistics.median(added[False]),
        "ahead_ms": 1e3 * statistics.median(added[True]),
    }


def _added(task: ReplayTask, pause_s: float) -> list[float]:
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        task.sample(BATCH // 2)
        times.append(time.perf_counter() - begin)
        time.sleep(pause_s)
    return times[2:]


if __name__ == "__main__":
    main()
