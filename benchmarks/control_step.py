"""`python -m benchmarks.control_step --out DIR`: LIBERO's control step, robosuite's against ours.

Each expert's commands are recorded once and given, step by step and in turn, to worlds of their own
that begin in the same initial state: robosuite as it comes (it compiles its controller with numba),
robosuite as it runs in our processes (not compiled), and ours. CPU time of the one thread. Cameras
are off; success is checked in all. "physics" is 25 times `mj_step` and nothing else.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
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
from phaser.suites.libero.simulator import Simulator
from phaser.suites.libero.tasks import SUITES, task_named
from phaser.suites.libraries import mujoco

SUITE = "libero-goal"
COMPILED, PLAIN, OURS, PHYSICS = "robosuite", "robosuite, not compiled", "ours", "physics"
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
    parser.add_argument("--tasks", type=int, default=10, help="fewer, to try")
    parser.add_argument("--initial-state", type=int, default=0)
    chosen = parser.parse_args()
    found = measure(SUITES[SUITE][: chosen.tasks], initial_state=chosen.initial_state)
    publish(chosen.out, "control_step", found, markdown(found))


def measure(tasks: Sequence[str] = SUITES[SUITE], *, initial_state: int = 0) -> dict[str, Any]:
    """Per task: steps, milliseconds, robosuite / ours, the largest difference of a trajectory."""
    compiled = compiled_controller()
    rows = [_row(task, initial_state, compiled) for task in tasks]
    return {"suite": SUITE, "initial_state": initial_state, "rows": rows}


def _row(task: str, initial_state: int, compiled: Callable[[], Any]) -> dict[str, Any]:
    worlds = _worlds(task, compiled)
    commands = _expert_commands(worlds[OURS].simulator, initial_state)
    for world in worlds.values():
        world.place(initial_state)
    taken: dict[str, list[float]] = {name: [] for name in worlds}
    apart = {COMPILED: 0.0, PLAIN: 0.0}
    names = list(worlds)
    for number, command in enumerate(commands):
        worlds[PHYSICS].kept = worlds[OURS].kept
        for name in names[number % len(names) :] + names[: number % len(names)]:
            taken[name].append(worlds[name].advance(command))
        for name in apart:
            difference = np.abs(worlds[name].physics - worlds[OURS].physics).max()
            apart[name] = max(apart[name], float(difference))
    return {
        "task": task,
        "steps": len(commands),
        "ms": {name: float(np.median(times)) for name, times in taken.items()},
        "ratio": {name: asdict(Ratio.of(taken[name], taken[OURS])) for name in apart},
        "largest_difference": apart,
    }


def _worlds(name: str, compiled: Callable[[], Any]) -> dict[str, World]:
    protocol, assets = protocol_named("phaser"), assets_folder(SUITE)
    task = task_named(name)
    theirs = Simulator(task, protocol, assets=assets, control="robosuite")
    ours = Simulator(task, protocol, assets=assets, control="fast")
    # Placed in this order, so that the simulator that checks whose turn it is finds its own.
    return {
        COMPILED: World(simulator=theirs, step=_robosuite_step(theirs, compiled)),
        PLAIN: World(simulator=theirs, step=_robosuite_step(theirs, nullcontext)),
        PHYSICS: World(simulator=ours, step=_physics_only(ours)),
        OURS: World(simulator=ours, step=ours.step),
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


def _robosuite_step(
    simulator: Simulator, context: Callable[[], Any]
) -> Callable[[np.ndarray], object]:
    def step(command: np.ndarray) -> None:
        with context():
            simulator.domain.step(command)

    return step


def _physics_only(simulator: Simulator) -> Callable[[np.ndarray], object]:
    library = mujoco()

    def step(command: np.ndarray) -> None:
        for _ in range(NUM_SUBSTEPS):
            library.mj_step(simulator.model, simulator.data)

    return step


def compiled_controller() -> Callable[[], Any]:
    """Within it robosuite's functions are those that it would compile by default."""
    import numba

    libero_envs()
    from robosuite.controllers import osc
    from robosuite.utils import transform_utils

    functions = [(osc, name) for name in ("opspace_matrices", "nullspace_torques")]
    functions += [(osc, "orientation_error"), (transform_utils, "mat2quat")]
    functions += [(transform_utils, "quat2mat")]
    plain = [(module, name, getattr(module, name)) for module, name in functions]
    fast = [(module, name, numba.jit(nopython=True)(one)) for module, name, one in plain]

    @contextmanager
    def compiled() -> Iterator[None]:
        _set(fast)
        try:
            yield
        finally:
            _set(plain)

    return compiled


def _set(functions: Sequence[tuple[Any, str, Callable[..., Any]]]) -> None:
    for module, name, function in functions:
        setattr(module, name, function)


def markdown(found: dict[str, Any]) -> str:
    lines = [
        "| task | steps | robosuite, compiled | not compiled | ours | physics "
        "| compiled / ours (95 %) | not compiled / ours "
        "| largest difference to not compiled | to compiled |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        times = " | ".join(f"{row['ms'][name]:.1f} ms" for name in (COMPILED, PLAIN, OURS, PHYSICS))
        ratio, plain = row["ratio"][COMPILED], row["ratio"][PLAIN]
        lines.append(
            f"| {row['task'].replace('_', ' ')} | {row['steps']} | {times} "
            f"| {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f}) "
            f"| {plain['median']:.2f} | {row['largest_difference'][PLAIN]:g} "
            f"| {row['largest_difference'][COMPILED]:.1g} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
