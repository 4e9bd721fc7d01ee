"""`python -m benchmarks.control_step --out DIR`: LIBERO's control step, robosuite's against ours.

Each expert's commands are recorded once and given, step by step and in turn, to worlds of their own
that begin in the same initial state. robosuite as it comes, which compiles its controller with
numba, is measured against our compiled control; robosuite not compiled against our control that is
not, in another process, since numba is decided at import. CPU time of the one thread. Cameras are
off; success is checked in all. "physics" is 25 times `mj_step` and nothing else.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.interleaved import Ratio
from benchmarks.publishing import publish
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.experts.expert import Expert
from phaser.suites.libero.protocol import protocol_named
from phaser.suites.libero.runtime import libero_envs
from phaser.suites.libero.simulator import Control, Simulator
from phaser.suites.libero.tasks import SUITES, task_named
from phaser.suites.mujoco_library import mujoco

SUITE = "libero-goal"
CONTROLS: dict[Control, str] = {
    "compiled": "robosuite as it comes",
    "fast": "robosuite not compiled",
}
"""Our ways of control, and what each of them gives the bits of."""
THEIRS, OURS, PHYSICS = "robosuite", "ours", "physics"
NUM_SUBSTEPS = 25


@dataclass(eq=False, kw_only=True)
class World:
    """All that one way of stepping carries from step to step; worlds share one simulator."""

    simulator: Simulator
    step: Callable[[np.ndarray], object]
    kept: tuple[np.ndarray, ...] = ()

    def place(self, initial_state: int) -> None:
        self.simulator.place(initial_state)
        self._keep()

    def advance(self, command: np.ndarray) -> float:
        """CPU milliseconds of one control step in this world."""
        self._restore()
        begin = time.thread_time_ns()
        self.step(command)
        taken = (time.thread_time_ns() - begin) / 1e6
        self._keep()
        return taken

    @property
    def physics(self) -> np.ndarray:
        return self.kept[1]

    def _keep(self) -> None:
        library, simulator = mujoco(), self.simulator
        everything = library.mjtState.mjSTATE_INTEGRATION
        numbers = np.empty(library.mj_stateSize(simulator.model, everything))
        library.mj_getState(simulator.model, simulator.data, numbers, everything)
        controller, gripper = self._robot()
        assert controller.new_update, "a world must have been stepped since its reset"
        goals = controller.goal_pos.copy(), controller.goal_ori.copy()
        fingers = np.array(gripper.current_action)
        self.kept = numbers, simulator.physics(), *goals, fingers

    def _restore(self) -> None:
        library, simulator = mujoco(), self.simulator
        controller, gripper = self._robot()
        numbers, _, controller.goal_pos, controller.goal_ori, gripper.current_action = self.kept
        everything = library.mjtState.mjSTATE_INTEGRATION
        library.mj_setState(simulator.model, simulator.data, numbers, everything)

    def _robot(self) -> tuple[Any, Any]:
        robot = self.simulator.domain.robots[0]
        return robot.controller, robot.gripper


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("control-step"), help="two files in here")
    parser.add_argument("--tasks", nargs="+", choices=SUITES[SUITE], default=SUITES[SUITE])
    parser.add_argument("--initial-state", type=int, default=0)
    parser.add_argument("--only", choices=[*CONTROLS], help="one of our ways, its rows to stdout")
    chosen = parser.parse_args()
    tasks = chosen.tasks
    if chosen.only:
        print(json.dumps([_row(task, chosen.initial_state, chosen.only) for task in tasks]))
        return
    found = measure(tasks, initial_state=chosen.initial_state)
    publish(chosen.out, "control_step", found, markdown(found))


def measure(tasks: Sequence[str] = SUITES[SUITE], *, initial_state: int = 0) -> dict[str, Any]:
    """Per task: steps, milliseconds, robosuite / ours, the largest difference of a trajectory."""
    rows = {control: _rows_of_a_process(control, tasks, initial_state) for control in CONTROLS}
    return {"suite": SUITE, "initial_state": initial_state, "rows": rows}


def _rows_of_a_process(
    control: Control, tasks: Sequence[str], initial_state: int
) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.control_step", "--only", control]
    command += ["--tasks", *tasks, "--initial-state", str(initial_state)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def _row(task: str, initial_state: int, control: Control) -> dict[str, Any]:
    worlds = _worlds(task, control)
    commands = _expert_commands(worlds[OURS].simulator, initial_state)
    for world in worlds.values():
        world.place(initial_state)
    taken: dict[str, list[float]] = {name: [] for name in worlds}
    apart, names = 0.0, list(worlds)
    for number, command in enumerate(commands):
        worlds[PHYSICS].kept = worlds[OURS].kept
        for name in names[number % len(names) :] + names[: number % len(names)]:
            taken[name].append(worlds[name].advance(command))
        difference = np.abs(worlds[THEIRS].physics - worlds[OURS].physics).max()
        apart = max(apart, float(difference))
    return {
        "task": task,
        "steps": len(commands),
        "ms": {name: float(np.median(times)) for name, times in taken.items()},
        "ratio": asdict(Ratio.of(taken[THEIRS], taken[OURS])),
        "largest_difference": apart,
    }


def _worlds(name: str, control: Control) -> dict[str, World]:
    made = Simulator(
        task_named(name), protocol_named("phaser"), assets=assets_folder(SUITE), control=control
    )
    return {
        THEIRS: World(simulator=made, step=lambda command: made.domain.step(command)),
        PHYSICS: World(simulator=made, step=_physics_only(made)),
        OURS: World(simulator=made, step=made.step),
    }


def _expert_commands(simulator: Simulator, initial_state: int) -> list[np.ndarray]:
    simulator.place(initial_state)
    expert = Expert(simulator.task.name, simulator.model, simulator.data)
    commands = []
    for _ in range(simulator.protocol.step_limit(SUITE)):
        command, stage = expert.decide()
        if stage == "hold":
            break
        commands.append(np.clip(command, -1.0, 1.0))
        simulator.step(commands[-1])
    return commands


def _physics_only(simulator: Simulator) -> Callable[[np.ndarray], object]:
    library = mujoco()

    def step(command: np.ndarray) -> None:
        for _ in range(NUM_SUBSTEPS):
            library.mj_step(simulator.model, simulator.data)

    return step


def compiled_controller() -> Callable[[], Any]:
    """A context in which robosuite is as it comes; in this process it is so everywhere."""
    libero_envs(compiled=True)
    return nullcontext


def markdown(found: dict[str, Any]) -> str:
    tables = [_table(control, rows) for control, rows in found["rows"].items()]
    return "\n".join(tables)


def _table(control: Control, rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        f"| task | steps | {CONTROLS[control]} | ours ({control}) | physics | ratio (95 %) "
        "| largest difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        times = " | ".join(f"{row['ms'][name]:.1f} ms" for name in (THEIRS, OURS, PHYSICS))
        ratio = row["ratio"]
        lines.append(
            f"| {row['task'].replace('_', ' ')} | {row['steps']} | {times} "
            f"| {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f}) "
            f"| {row['largest_difference']:g} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
