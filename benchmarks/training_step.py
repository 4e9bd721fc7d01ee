"""`python -m benchmarks.training_step --out DIR`: PHASER's training step against ER's.

The shipped learner trains the tiny policy on the last of ten Meta-World tasks while it
rehearses the nine before it, for both methods in turn. The tiny policy is the hardest case: the
larger a policy, the smaller the share of choosing frames. CPU time of the one thread.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from benchmarks.interleaved import Ratio
from benchmarks.publishing import publish
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.experiments.allocator import keep_freed_memory
from phaser.experiments.prepare import Preparation
from phaser.experiments.presets import preset
from phaser.experiments.run import Run
from phaser.memory.budget import Budget
from phaser.methods.table import METHODS
from phaser.training.frames import FrameTable
from phaser.training.learner import PolicyLearner
from phaser.training.material import TaskMaterial
from phaser.training.probe import PolicyProbe

BASELINE, OURS = "er", "phaser"
CAPACITIES = (20, 200)
STEPS_PER_TURN = 12


@dataclass(eq=False)
class Clock:
    """Notes the time between the steps that a learner reports."""

    before_ns: int = 0
    taken_ms: list[float] | None = None

    def __call__(self, step: int, steps: int, loss: float) -> None:
        now = time.thread_time_ns()
        if self.taken_ms is not None and step > 1:
            self.taken_ms.append((now - self.before_ns) / 1e6)
        self.before_ns = time.thread_time_ns()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("training-step"), help="two files in here")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--tasks", type=int, default=10, help="fewer, to try")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    found = measure(num_tasks=chosen.tasks, rounds=chosen.rounds)
    publish(chosen.out, "training_step", found, markdown(found))


def measure(*, num_tasks: int, rounds: int) -> dict[str, Any]:
    run = preset("metaworld-10")
    preparation = Preparation.of(run.suite, run.policy, run.encoders, chunk_length=8)
    made = [
        preparation.material(task, run.segmenter_of(task.name))
        for task in run.suite.tasks()[:num_tasks]
    ]
    rows = []
    for frames_per_task in CAPACITIES:
        turns = {
            name: _turn(run, made, name, frames_per_task=frames_per_task)
            for name in (BASELINE, OURS)
        }
        # The same work twice shows what the measurement itself cannot tell apart.
        turns[f"{BASELINE} again"] = _turn(run, made, BASELINE, frames_per_task=frames_per_task)
        rows.append({"frames_per_task": frames_per_task, **_compared(turns, rounds)})
    return {"tasks": num_tasks, "rounds": rounds, "steps_per_turn": STEPS_PER_TURN, "rows": rows}


def _turn(
    run: Run, made: list[TaskMaterial], name: str, *, frames_per_task: int
) -> Callable[[], float]:
    """Some steps of one method with a policy of its own; gives the median of a step."""
    method, budget, streams = METHODS[name], Budget.per_task(frames_per_task), Streams(0)
    policy = run.policy.build(run.suite.contract, streams.named("weights"))
    *past, current = [one.prepared for one in made]
    memory = Memory()
    for task in past:
        stream = streams.named("keep", task.task.name)
        memory = budget.keep(method.keep, task, memory, stream=stream).memory
    clock = Clock()
    learner = PolicyLearner(
        policy=policy,
        frames=FrameTable({one.prepared.task.name: one.train for one in made}),
        fit=replace(run.fit, steps_per_task=STEPS_PER_TURN),
        streams=streams,
        accelerator=Accelerator(cpu=True),
        progress=clock,
    )
    draw = streams.named("draw", current.task.name)
    probe = PolicyProbe(learner=learner, task=current.task.name)
    sampler = method.draw.for_task(memory, current, draw, probe)

    def turn() -> float:
        clock.taken_ms = []
        learner.learn(current, sampler)
        return float(np.median(clock.taken_ms))

    return turn


def _compared(turns: dict[str, Callable[[], float]], rounds: int) -> dict[str, Any]:
    names = list(turns)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for turn in turns.values():
        turn()
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            taken[name].append(turns[name]())
    return {
        "ms": {name: float(np.median(times)) for name, times in taken.items()},
        "ratio": {name: asdict(Ratio.of(taken[name], taken[BASELINE])) for name in names[1:]},
    }


def markdown(found: dict[str, Any]) -> str:
    lines = [
        f"| frames per task | {BASELINE} | {OURS} | ratio (95 % interval) "
        f"| {BASELINE} against itself |",
        "|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        ours, noise = row["ratio"][OURS], row["ratio"][f"{BASELINE} again"]
        lines.append(
            f"| {row['frames_per_task']} | {row['ms'][BASELINE]:.2f} ms | {row['ms'][OURS]:.2f} ms "
            f"| {_cell(ours)} | {_cell(noise)} |"
        )
    return "\n".join([*lines, ""])


def _cell(ratio: dict[str, float]) -> str:
    return f"{ratio['median']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f})"


if __name__ == "__main__":
    main()
