"""Check a suite: well-formed demonstrations, and a simulator that a seed fully determines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phaser.core.demonstration import Demo, Task
from phaser.core.policy import Observation
from phaser.core.suite import Env, Suite
from phaser.testing.verdict import require

NUM_STEPS = 3
SEEDS = (5000, 5001)


def check_suite(suite: Suite, *, seeds: tuple[int, int] = SEEDS) -> None:
    """Names and demonstrations of all tasks; the simulator of the first, where there is one.

    `seeds`: two that the suite's simulator knows.
    """
    require(
        isinstance(suite, Suite),
        suite,
        "lacks part of the port: inherit from phaser.core.suite.Suite",
    )
    tasks = suite.tasks()
    names = [task.name for task in tasks]
    require(
        bool(names) and len(set(names)) == len(names), suite, f"tasks {names}, expected distinct"
    )
    first = suite.demos(tasks[0], "train")[0]
    for task in tasks:
        for split in ("train", "heldout"):
            _check_demos(suite, task, suite.demos(task, split), first)
        if suite.has_simulator:
            require(suite.horizon(task) >= 1, suite, f"a step limit of {suite.horizon(task)} steps")
    if suite.has_simulator:
        _check_env(suite, tasks[0], first, seeds)


def _check_demos(suite: Suite, task: Task, demos: Sequence[Demo], first: Demo) -> None:
    where = f"task {task.name!r}"
    indices = [demo.index for demo in demos]
    require(
        bool(demos) and len(set(indices)) == len(indices),
        suite,
        f"{where} has demonstrations {indices}, expected at least one, distinct",
    )
    for demo in demos:
        require(demo.task == task.name, suite, f"{where} has a demonstration of {demo.task!r}")
        shape = (demo.actions.shape[1], demo.states.shape[1], demo.layout, sorted(demo.cameras))
        expected = (
            first.actions.shape[1],
            first.states.shape[1],
            first.layout,
            sorted(first.cameras),
        )
        require(
            shape == expected,
            suite,
            f"{where}, demonstration {demo.index}: actions, states, layout and cameras {shape}; "
            f"the suite's first demonstration has {expected}",
        )


def _check_env(suite: Suite, task: Task, demo: Demo, seeds: tuple[int, int]) -> None:
    env = suite.make_env(task)
    require(isinstance(env, Env), suite, "make_env gave no Env (reset, step, observe)")
    seen = _replay(env, seeds[0], demo)
    _check_observation(suite, task, seen[0], demo)
    again = _replay(env, seeds[0], demo)
    same = all(_equal(one, two) for one, two in zip(seen, again, strict=True))
    require(same, suite, f"seed {seeds[0]} gave two different episodes for the same actions")
    other = env.reset(seeds[1])
    require(not _equal(seen[0], other), suite, f"seeds {seeds} give the same initial state")
    moved = env.step(demo.actions[0])
    require(isinstance(moved, bool), suite, f"step returned {moved!r}, expected True or False")


def _check_observation(suite: Suite, task: Task, seen: Observation, demo: Demo) -> None:
    require(
        seen.instruction == task.instruction,
        suite,
        f"the simulator says {seen.instruction!r}, the task {task.instruction!r}",
    )
    require(
        seen.state.shape == demo.states.shape[1:],
        suite,
        f"states of shape {seen.state.shape} when simulated, {demo.states.shape[1:]} when recorded",
    )
    for name, images in demo.cameras.items():
        require(name in seen.images, suite, f"the simulator has no camera {name!r}")
        recorded, drawn = images.read([0])[0], seen.images[name]
        require(
            (drawn.shape, drawn.dtype) == (recorded.shape, recorded.dtype),
            suite,
            f"camera {name!r} draws {drawn.dtype} {drawn.shape}, "
            f"recorded is {recorded.dtype} {recorded.shape}",
        )


def _replay(env: Env, seed: int, demo: Demo) -> list[Observation]:
    seen = [env.reset(seed)]
    for action in demo.actions[:NUM_STEPS]:
        env.step(action)
        seen.append(env.observe())
    return seen


def _equal(one: Observation, two: Observation) -> bool:
    return np.array_equal(one.state, two.state) and all(
        np.array_equal(image, two.images[name]) for name, image in one.images.items()
    )
