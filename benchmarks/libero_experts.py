"""`python -m benchmarks.libero_experts`: the scripted experts on LIBERO's official initial states.

Protocol "phaser": fixtures seeded with the state's number, ten waiting steps, the suite's step
limit, solved at the first step that fulfils the goal. Every episode is kept as it ends: the same
command goes on where it was stopped, and measures a task anew once its expert has changed.
"""

import argparse
import hashlib
import inspect
import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from phaser.core.files import read_json, write_json, write_text
from phaser.core.streams import Streams
from phaser.evaluation.intervals import wilson
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.experts import expert, moves, world
from phaser.suites.libero.experts.expert import EXPERTS, Expert
from phaser.suites.libero.protocol import protocol_named
from phaser.suites.libero.simulator import Simulator
from phaser.suites.libero.tasks import SUITES, instruction_of, suite_named, suite_of, task_named

PROTOCOL = protocol_named("phaser")
NUM_MOTIONS = 6
"""Noise is added to these; the gripper's command stays."""

Episode = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="libero-goal", type=suite_named)
    parser.add_argument("--tasks", nargs="+", help="instead of all that have an expert")
    parser.add_argument("--states", type=int, default=50, help="the first so many of 50")
    parser.add_argument("--noise", type=float, default=0.0, help="sd, added to the six motions")
    parser.add_argument("--out", type=Path, default=Path("runs/libero_experts"))
    chosen = parser.parse_args()
    names = chosen.tasks or [name for name in SUITES[chosen.suite] if name in EXPERTS]
    folder = chosen.out / f"{chosen.suite}-noise-{chosen.noise:g}"
    episodes = {name: measure(name, chosen.states, chosen.noise, folder) for name in names}
    table = markdown(episodes)
    write_text(folder / "table.md", table)
    print(table)


def measure(name: str, num_states: int, noise: float, folder: Path) -> list[Episode]:
    """One episode per initial state; those that the task's file already has are not run again."""
    file, version = folder / f"{name}.json", _version(name)
    kept = read_json(file) if file.exists() else {}
    episodes: list[Episode] = kept["episodes"] if kept.get("expert") == version else []
    if len(episodes) < num_states:
        assets = assets_folder(suite_of(name))
        simulator = Simulator(task_named(name), PROTOCOL, assets=assets)
        for index in range(len(episodes), num_states):
            begin = time.perf_counter()
            episodes.append(run(simulator, index, noise))
            write_json(file, {"expert": version, "episodes": episodes})
            solved = sum(one["solved"] for one in episodes)
            seconds = time.perf_counter() - begin
            print(f"{name}: {solved}/{index + 1} solved, {seconds:.1f} s", flush=True)
        simulator.close()
    return episodes[:num_states]


def run(simulator: Simulator, index: int, noise: float) -> Episode:
    """From one initial state to success or the step limit."""
    name = simulator.task.name
    simulator.place(index)
    decider = Expert(name, simulator.model, simulator.data)
    generator = Streams(0).named("noise", name, index)()
    stages: list[str] = []
    solved = False
    while not solved and len(stages) < PROTOCOL.step_limit(simulator.suite):
        command, stage = decider.decide()
        stages.append(stage)
        command[:NUM_MOTIONS] += noise * generator.standard_normal(NUM_MOTIONS)
        solved = simulator.step(np.clip(command, -1, 1))
    runs = [[stage, len(list(steps))] for stage, steps in groupby(stages)]
    return {"state": index, "solved": solved, "steps": len(stages), "stages": runs}


def markdown(episodes: Mapping[str, Sequence[Episode]]) -> str:
    """The table of the documentation: a line per task, in the order given."""
    lines = [
        "| task | solved | 95 % interval | median steps | stages |",
        "|---|---|---|---|---|",
    ]
    for name, rows in episodes.items():
        solved = [row for row in rows if row["solved"]]
        interval = wilson(len(solved), len(rows))
        steps = f"{median(row['steps'] for row in solved):.0f}" if solved else "–"
        lines.append(
            f"| {instruction_of(name)} | {len(solved)}/{len(rows)} "
            f"| {100 * interval.lower:.0f}–{100 * interval.upper:.0f} % | {steps} "
            f"| {_usual_stages(solved)} |"
        )
    return "\n".join(lines) + "\n"


def _usual_stages(rows: Sequence[Episode]) -> str:
    """The stages of the episode of median length."""
    if not rows:
        return "–"
    middle = sorted(rows, key=lambda row: row["steps"])[len(rows) // 2]
    return ", ".join(stage for stage, _ in middle["stages"])


def _version(name: str) -> str:
    """A hash of the code that decides in this task."""
    sources = [inspect.getsource(module) for module in (world, moves, expert)]
    sources.append(inspect.getsource(inspect.getmodule(EXPERTS[name])))  # type: ignore[arg-type]
    return hashlib.sha256("".join(sources).encode()).hexdigest()


if __name__ == "__main__":
    main()
