"""Run folders as the experiment layer writes them, with made-up numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from phaser.core.files import write_json
from phaser.evaluation.matrix import EPISODES_SCHEMA
from phaser.evaluation.phase_losses import LOSSES_SCHEMA
from phaser.memory.budget import Budget

TASKS = ("drawer-open", "faucet-close", "window-open", "plate-slide")
PHASES = (("reach", 0.6), ("grasp", 0.1), ("pull", 0.3))
FRAMES = Budget.per_task(21)
RETENTION = {"sequential": 0.2, "er": 0.75, "er-even": 0.82, "phaser": 0.9}


def write_run_folder(
    folder: Path,
    method: str,
    seed: int,
    *,
    tasks: Sequence[str] = TASKS,
    budget: Budget = FRAMES,
    held: int | None = None,
    full_matrix: bool = True,
    first_state: int = 5000,
    final: Sequence[int] | None = None,
) -> Path:
    """Write all files of a finished run.

    held: frames of each task, where it is not the budget in frames.
    final: successes in ten rollouts of each task after the last one, where they are not drawn.
    """
    folder.mkdir(parents=True)
    keeps = method not in ("sequential", "joint")
    frames = (budget.amount if held is None else held) if keeps else 0
    _write_about(folder, method, seed, tasks, budget if keeps else None)
    generator = np.random.default_rng([seed, len(method)])
    rows = _episodes(method, seed, tasks, full_matrix, first_state, generator)
    for row in rows if final is not None else ():
        if row["after_index"] == len(tasks) - 1:
            row["success"] = row["env_seed"] - first_state < final[row["task_index"]]
    pq.write_table(pa.Table.from_pylist(rows, schema=EPISODES_SCHEMA), folder / "episodes.parquet")
    losses = pa.Table.from_pylist(_losses(method, tasks), schema=LOSSES_SCHEMA)
    pq.write_table(losses, folder / "losses.parquet")
    write_json(folder / "routing.json", _routing(method, tasks, generator) if frames else [])
    write_json(folder / "budget.json", _budget(tasks, frames))
    write_json(folder / "timing.json", {"train_s": 30.0, "rollout_s": 12.5, "total_cpu_s": 45.25})
    write_json(folder / "done.json", {})
    return folder


def _write_about(
    folder: Path,
    method: str,
    seed: int,
    tasks: Sequence[str],
    budget: Budget | None,
) -> None:
    about = {
        "name": folder.name,
        "suite": "metaworld",
        "preset": "metaworld-10",
        "method": method,
        "seed": seed,
        "order": "default",
        "tasks": list(tasks),
        "instructions": {task: f"do {task}" for task in tasks},
        "budget": None if budget is None else asdict(budget),
        "settings": {"fit": {"steps_per_task": 300}, "method": {"name": method}},
        "versions": {"python": "3.11.9", "torch": "2.13.0"},
        "commit": "0123abc",
        "command": f"phaser run metaworld-10 --method {method} --seed {seed}",
    }
    write_json(folder / "run.json", about)


def _stages(method: str, tasks: Sequence[str]) -> list[tuple[int, str]]:
    last = len(tasks) - 1
    return [(last, "all")] if method == "joint" else list(enumerate(tasks))


def _episodes(
    method: str,
    seed: int,
    tasks: Sequence[str],
    full_matrix: bool,
    first_state: int,
    generator: np.random.Generator,
) -> list[dict[str, Any]]:
    kept = RETENTION.get(method, 0.85)
    last = len(tasks) - 1
    return [
        {
            "run": f"{method}-{seed}",
            "method": method,
            "seed": seed,
            "after_task": after,
            "after_index": j,
            "task": task,
            "task_index": i,
            "env_seed": first_state + episode,
            "success": bool(generator.random() < 0.95 * kept ** (j - i)),
            "steps": 40,
            "retried": False,
            "milestones": "",
        }
        for j, after in _stages(method, tasks)
        for i, task in enumerate(tasks[: j + 1])
        if full_matrix or j in (i, last)
        for episode in range(10)
    ]


def _losses(method: str, tasks: Sequence[str]) -> list[dict[str, object]]:
    kept = RETENTION.get(method, 0.85)
    return [
        {
            "after_task": after,
            "after_index": j,
            "task": task,
            "task_index": i,
            "phase_index": index,
            "phase": label,
            "phase_share": share,
            "loss": 0.05 + 0.02 * index + (1 - kept) * (j - i) * (0.2 if share < 0.18 else 0.05),
            "num_frames": 100,
        }
        for j, after in _stages(method, tasks)
        for i, task in enumerate(tasks[: j + 1])
        for index, (label, share) in enumerate(PHASES)
    ]


def _routing(
    method: str, tasks: Sequence[str], generator: np.random.Generator
) -> list[dict[str, object]]:
    steps = []
    for position, task in enumerate(tasks[1:], start=1):
        count = position * len(PHASES)
        sharp = generator.exponential(size=count) + 0.05 if method == "phaser" else np.ones(count)
        weights = sharp / sharp.sum()
        old = [(name, k) for name in tasks[:position] for k in range(len(PHASES))]
        phases = [
            {"task": name, "index": k, "label": PHASES[k][0], "weight": w, "priority": None}
            for (name, k), w in zip(old, weights.tolist(), strict=True)
        ]
        entropy = float(-(weights * np.log2(weights)).sum())
        steps.append(
            {
                "task": task,
                "phases": phases,
                "entropy_bits": entropy,
                "uniform_entropy_bits": log2(count),
            }
        )
    return steps


def _budget(tasks: Sequence[str], frames: int) -> dict[str, object]:
    if not frames:
        return {"frames_per_task": {}, "frames_per_phase": [], "total_frames": 0}
    share, rest = divmod(frames, len(PHASES))
    phases = [
        {
            "task": task,
            "index": k,
            "label": label,
            "frames": share + (k < rest),
            "bytes": 1000 * (share + (k < rest)),
        }
        for task in tasks
        for k, (label, _) in enumerate(PHASES)
    ]
    return {
        "frames_per_task": dict.fromkeys(tasks, frames),
        "frames_per_phase": phases,
        "total_frames": frames * len(tasks),
        "bytes_per_task": dict.fromkeys(tasks, 1000 * frames),
        "total_bytes": 1000 * frames * len(tasks),
    }
