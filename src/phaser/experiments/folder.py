"""The folder of one cell: every file is written whole or not at all, `done.json` last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import save

from phaser.core.errors import BadInput
from phaser.core.files import read_json, write_atomically, write_bytes, write_json
from phaser.evaluation.matrix import EPISODES_SCHEMA
from phaser.evaluation.phase_losses import LOSSES_SCHEMA
from phaser.evaluation.rollouts import Episode
from phaser.experiments.provenance import command_of, commit, versions
from phaser.experiments.run import Run, settings_of
from phaser.routing.boltzmann import entropy_bits
from phaser.routing.samplers import WeightedSampler, uniform_over_frames
from phaser.training.stream import TaskFinished


class CellFolder:
    """Collects what a cell measures; each addition is on disk before the next task starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._about: dict[str, Any] = {}
        self._episodes: list[dict[str, Any]] = []
        self._losses: list[dict[str, Any]] = []
        self._routing: list[dict[str, Any]] = []

    def start(self, run: Run) -> None:
        """Write down what is about to happen; refuses a folder that holds another run."""
        settings = settings_of(run)
        about = self.path / "run.json"
        if about.exists() and read_json(about).get("settings") != settings:
            raise BadInput(f"{self.path} holds a run with other settings; choose another --out")
        tasks = run.suite.tasks()
        self._about = {
            "name": run.name,
            "suite": "metaworld",
            "preset": run.preset,
            "method": run.method_name,
            "seed": run.seed,
            "order": run.suite.order,
            "tasks": [task.name for task in tasks],
            "instructions": {task.name: task.instruction for task in tasks},
            "frames_per_task": run.frames_per_task,
            "settings": settings,
            "versions": versions(),
            "commit": commit(),
            "command": command_of(run),
        }
        write_json(about, self._about)
        write_json(self.path / "routing.json", self._routing)

    def add_episodes(
        self, after: str, index: int, tasks: Sequence[str], episodes: Sequence[Episode]
    ) -> None:
        self._episodes += [
            {
                "run": self._about["name"],
                "method": self._about["method"],
                "seed": self._about["seed"],
                "after_task": after,
                "after_index": index,
                "task": one.task,
                "task_index": tasks.index(one.task),
                "env_seed": one.env_seed,
                "success": one.success,
                "steps": one.steps,
            }
            for one in sorted(episodes, key=lambda one: (tasks.index(one.task), one.env_seed))
        ]
        self._write_table("episodes.parquet", self._episodes, EPISODES_SCHEMA)

    def write_losses(self, rows: Sequence[dict[str, Any]]) -> None:
        self._losses += rows
        self._write_table("losses.parquet", self._losses, LOSSES_SCHEMA)

    def add_routing(self, task: str, finished: TaskFinished) -> None:
        """What the memory was drawn by while this task was learnt; the first task has none."""
        sampler, buckets = finished.sampler, finished.past.buckets
        if not buckets or not isinstance(sampler, WeightedSampler):
            return
        columns = zip(buckets, sampler.weights(), sampler.priorities, strict=True)
        self._routing.append(
            {
                "task": task,
                "entropy_bits": entropy_bits(sampler.weights()),
                "uniform_entropy_bits": entropy_bits(uniform_over_frames(buckets)),
                "phases": [
                    {
                        "task": bucket.phase.task,
                        "index": bucket.phase.index,
                        "label": bucket.phase.label,
                        "weight": float(weight),
                        "priority": float(score),
                    }
                    for bucket, weight, score in columns
                ],
            }
        )
        write_json(self.path / "routing.json", self._routing)

    def save_policy(self, index: int, task: str, policy: torch.nn.Module) -> None:
        """Weights after a task, with the observation contract they were trained under."""
        weights = {name: value.contiguous() for name, value in policy.state_dict().items()}
        stem = self.path / "checkpoints" / f"{index:02d}-{task}"
        write_bytes(stem.with_suffix(".safetensors"), save(weights))
        write_json(stem.with_suffix(".json"), {"contract": policy.contract})

    def write_budget(self, certificate: Mapping[str, Any]) -> None:
        write_json(self.path / "budget.json", certificate)

    def finish(self, seconds: Mapping[str, float]) -> None:
        write_json(self.path / "timing.json", dict(seconds))
        write_json(self.path / "done.json", {"name": self._about["name"]})

    @property
    def is_finished(self) -> bool:
        return (self.path / "done.json").exists()

    def _write_table(self, name: str, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
        table = pa.Table.from_pylist(rows, schema=schema)
        write_atomically(self.path / name, lambda temporary: pq.write_table(table, temporary))
