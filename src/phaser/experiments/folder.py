"""The folder of one cell: every file is written whole or not at all, `done.json` last."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from phaser.core.errors import BrokenFile
from phaser.core.files import (
    read_json,
    remove_unfinished,
    require_file,
    write_atomically,
    write_json,
)
from phaser.core.policy import Policy
from phaser.evaluation.matrix import EPISODES_SCHEMA, LATER_COLUMNS
from phaser.evaluation.phase_losses import LOSSES_SCHEMA
from phaser.evaluation.rollouts import Episode
from phaser.experiments.circumstances import note_end, note_start
from phaser.experiments.compatibility import about, require_same_libraries, require_same_settings
from phaser.experiments.finished import DONE
from phaser.experiments.provenance import command_of, commit
from phaser.experiments.run import Run, settings_of
from phaser.experiments.versions import versions
from phaser.routing.boltzmann import entropy_bits
from phaser.routing.samplers import uniform_over_frames
from phaser.training.checkpoint import Steps, write_tensors
from phaser.training.stream import TaskFinished


class CellFolder:
    """Collects what a cell measures; each addition is on disk before the next task starts.

    Of several processes that train one policy, the first one alone writes.
    """

    def __init__(self, path: Path, *, writes: bool = True) -> None:
        self.path = path
        self._writes = writes
        self._about: dict[str, Any] = {}
        self._episodes: list[dict[str, Any]] = []
        self._losses: list[dict[str, Any]] = []
        self._routing: list[dict[str, Any]] = []

    def start(self, run: Run) -> None:
        """Write down what is about to happen; refuses a folder that holds another run."""
        require_same_settings(self.path, run)
        self._remove_unfinished()
        tasks = run.suite.tasks()
        self._about = {
            "name": run.name,
            "suite": run.suite_kind,
            "preset": run.preset,
            "method": run.method_name,
            "seed": run.seed,
            "order": run.suite.order,
            "tasks": [task.name for task in tasks],
            "instructions": {task.name: task.instruction for task in tasks},
            "budget": settings_of(run)["budget"],
            "settings": settings_of(run),
            "versions": versions(),
            "commit": commit(),
            "command": command_of(run),
        }
        self._write_json("run.json", self._about)
        self._write_json("routing.json", self._routing)
        if self._writes:
            note_start(self.path)

    def go_on(self, run: Run, learnt: Sequence[str]) -> None:
        """Read back what was measured after these tasks; what came later is measured again."""
        require_same_settings(self.path, run)
        require_same_libraries(self.path)
        self._remove_unfinished()
        self._about = about(self.path)
        self._note_commit()
        # Without a simulator no rollout was ever made.
        tried = learnt if run.suite.has_simulator else []
        found = self._rows("episodes.parquet", tried)
        self._episodes = [LATER_COLUMNS | row for row in found]
        self._losses = self._rows("losses.parquet", learnt)
        routing = read_json(self.path / "routing.json")
        self._routing = [one for one in routing if one["task"] in learnt]

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
                "retried": one.retried,
                "milestones": json.dumps(one.milestones) if one.milestones else "",
            }
            for one in sorted(episodes, key=lambda one: (tasks.index(one.task), one.env_seed))
        ]
        self._write_table("episodes.parquet", self._episodes, EPISODES_SCHEMA)

    def write_losses(self, rows: Sequence[dict[str, Any]]) -> None:
        self._losses += rows
        self._write_table("losses.parquet", self._losses, LOSSES_SCHEMA)

    def heldout_losses(self, after: str) -> dict[str, float]:
        """Held-out loss by task after that stage of training, the mean over its phases."""
        losses: dict[str, list[float]] = {}
        for row in self._losses:
            if row["after_task"] == after:
                losses.setdefault(row["task"], []).append(row["loss"])
        return {task: sum(parts) / len(parts) for task, parts in losses.items()}

    def add_routing(self, task: str, finished: TaskFinished) -> None:
        """What the memory was drawn by while this task was learnt; the first task has none."""
        sampler, buckets = finished.sampler, finished.past.buckets
        priorities = sampler.priorities
        if not buckets or priorities is None:
            return
        weights, uniform = sampler.weights(), uniform_over_frames(finished.past)
        if not len(weights):
            return
        columns = zip(buckets, weights, priorities, strict=True)
        self._routing.append(
            {
                "task": task,
                "entropy_bits": entropy_bits(weights),
                "uniform_entropy_bits": entropy_bits(uniform),
                "phase_entropy_bits": float(np.log2(len(buckets))),
                "effective_phases": 2.0 ** entropy_bits(weights),
                "amplification": float((weights / uniform).max()),
                "uniform_share": sampler.uniform_share,
                "passes": {} if sampler.measured is None else asdict(sampler.passes),
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
        self._write_json("routing.json", self._routing)

    def save_policy(self, index: int, task: str, policy: Policy) -> None:
        """Weights after a task, with the observation contract they were trained under."""
        path = self.weights(index, task)
        if self._writes:
            write_tensors(path, policy.trained_state())
            write_json(path.with_suffix(".json"), {"contract": dict(policy.contract)})

    def weights(self, index: int, task: str) -> Path:
        return self.path / "checkpoints" / f"{index:02d}-{task}.safetensors"

    def write_steps(self, index: int, task: str, steps: Steps) -> None:
        """What every step of a task was trained on, and its loss."""
        self._write(f"steps/{index:02d}-{task}.parquet", steps.table(task))

    def write_budget(self, certificate: Mapping[str, Any]) -> None:
        self._write_json("budget.json", certificate)

    def finish(self, seconds: Mapping[str, float]) -> None:
        self._write_json("timing.json", dict(seconds))
        if self._writes:
            note_end(self.path)
        self._write_json(DONE, {"name": self._about["name"]})

    def _write_table(self, name: str, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
        self._write(name, pa.Table.from_pylist(rows, schema=schema))

    def _write_json(self, name: str, value: Any) -> None:
        if self._writes:
            write_json(self.path / name, value)

    def _write(self, name: str, table: pa.Table) -> None:
        if not self._writes:
            return
        write_atomically(self.path / name, lambda temporary: pq.write_table(table, temporary))

    def _rows(self, name: str, learnt: Sequence[str]) -> list[dict[str, Any]]:
        path = self.path / name
        if not learnt:
            return []
        require_file(path)
        try:
            rows = pq.read_table(path).to_pylist()
        except (OSError, pa.ArrowInvalid) as error:
            raise BrokenFile(f"{path} cannot be read ({error}); restore it") from error
        if not set(learnt) <= {row["after_task"] for row in rows}:
            raise BrokenFile(f"{path} lacks rows of tasks that were measured; restore it")
        return [row for row in rows if row["after_task"] in learnt]

    def _remove_unfinished(self) -> None:
        if not self._writes:
            return
        for part in (".", "checkpoints", "steps", "clips"):
            remove_unfinished(self.path / part)

    def _note_commit(self) -> None:
        """Which other code went on with the run, if any did."""
        now = commit()
        others = self._about.get("other_commits", [])
        if now != self._about["commit"] and now not in others:
            self._about["other_commits"] = [*others, now]
            self._write_json("run.json", self._about)
