"""How a report grows: runs are made up, then `phaser report` reads them and writes its page.

    python -m benchmarks.report_scale --cells 1000 --episodes 1000000

Prints seconds, the largest resident memory of the process, and the size of the page.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from phaser.core.files import write_json
from phaser.evaluation.matrix import EPISODES_SCHEMA
from phaser.evaluation.phase_losses import LOSSES_SCHEMA
from phaser.memory.budget import Budget
from phaser.report.page import write_report
from phaser.report.runs import finished_folders

METHODS = ("sequential", "er", "er-even", "phaser")
PHASES = ("reach", "grasp", "move")
FRAMES = 21


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--episodes", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=10)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_runs(folder / "runs", chosen.cells, chosen.episodes, chosen.tasks)
        seconds, size = measured(folder / "runs", folder / "report.html")
    # Linux counts in kilobytes.
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{chosen.cells:,} cells, {chosen.episodes:,} episodes: {seconds:.1f} s of processor "
        f"time, {resident:,.0f} MB resident, page of {size / 1e6:.2f} MB"
    )


def measured(runs: Path, page: Path) -> tuple[float, int]:
    """Processor seconds of a report of these runs, and the bytes of its page."""
    started = time.process_time()
    write_report(finished_folders([runs]), page)
    return time.process_time() - started, page.stat().st_size


def write_runs(place: Path, num_cells: int, num_episodes: int, num_tasks: int) -> None:
    """Cells of four methods; the episodes are spread evenly over cells and their matrices."""
    tasks = [f"task-{index}" for index in range(num_tasks)]
    num_parts = num_tasks * (num_tasks + 1) // 2
    trials = max(1, round(num_episodes / num_cells / num_parts))
    for number in range(num_cells):
        method, seed = METHODS[number % len(METHODS)], number // len(METHODS)
        _write_run(place / f"{method}-{seed}", method, seed, tasks, trials)


def _write_run(folder: Path, method: str, seed: int, tasks: list[str], trials: int) -> None:
    folder.mkdir(parents=True)
    frames = 0 if method == "sequential" else FRAMES
    budget = asdict(Budget.per_task(FRAMES)) if frames else None
    about = {
        **{"name": folder.name, "suite": "made-up", "preset": "made-up", "method": method},
        **{"seed": seed, "order": "default", "tasks": tasks, "budget": budget},
        **{"instructions": {task: f"do {task}" for task in tasks}, "commit": "none"},
        **{"settings": {"fit": {"steps_per_task": 300}}, "versions": {"python": "3"}},
        "command": f"phaser run made-up --method {method} --seed {seed}",
    }
    write_json(folder / "run.json", about)
    pairs = [(after, task) for after in range(len(tasks)) for task in range(after + 1)]
    pq.write_table(_episodes(folder.name, method, seed, tasks, pairs, trials),
                   folder / "episodes.parquet")  # fmt: skip
    pq.write_table(_losses(tasks, pairs), folder / "losses.parquet")
    held = [
        {"task": task, "index": index, "label": label, "frames": frames // len(PHASES)}
        for task in tasks
        for index, label in enumerate(PHASES)
    ]
    write_json(
        folder / "budget.json",
        {
            "frames_per_task": dict.fromkeys(tasks, frames) if frames else {},
            "frames_per_phase": held if frames else [],
            "total_frames": frames * len(tasks),
        },
    )
    write_json(folder / "routing.json", [])
    write_json(folder / "timing.json", {"train_s": 30.0, "total_cpu_s": 45.0})
    write_json(folder / "done.json", {})


def _episodes(
    name: str,
    method: str,
    seed: int,
    tasks: list[str],
    pairs: list[tuple[int, int]],
    trials: int,
) -> pa.Table:
    generator = np.random.default_rng([seed, len(method)])
    after, task = (np.repeat([pair[side] for pair in pairs], trials) for side in (0, 1))
    kept = {"sequential": 0.3, "er": 0.8, "er-even": 0.84, "phaser": 0.85}[method]
    count = len(after)
    columns = {
        "run": [name] * count,
        "method": [method] * count,
        "seed": np.full(count, seed),
        "after_task": [tasks[one] for one in after],
        "after_index": after,
        "task": [tasks[one] for one in task],
        "task_index": task,
        "env_seed": np.tile(np.arange(trials), len(pairs)),
        "success": generator.random(count) < 0.95 * kept ** (after - task),
        "steps": np.full(count, 40),
        "retried": np.zeros(count, dtype=bool),
        "milestones": [""] * count,
    }
    return pa.table(columns, schema=EPISODES_SCHEMA)


def _losses(tasks: list[str], pairs: list[tuple[int, int]]) -> pa.Table:
    rows = [
        {
            **{"after_task": tasks[after], "after_index": after},
            **{"task": tasks[task], "task_index": task},
            **{"phase_index": index, "phase": label, "phase_share": (0.6, 0.1, 0.3)[index]},
            **{"loss": 0.05 + 0.01 * (after - task), "num_frames": 100},
        }
        for after, task in pairs
        for index, label in enumerate(PHASES)
    ]
    return pa.Table.from_pylist(rows, schema=LOSSES_SCHEMA)


if __name__ == "__main__":
    main()
