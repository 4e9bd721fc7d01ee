"""Check a suite's simulator: a seed determines an episode, and it shows what was recorded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phaser.core.contract import Contract
from phaser.core.demonstration import Demo, Task
from phaser.core.policy import Observation
from phaser.core.suite import Env, Suite
from phaser.testing.verdict import require

NUM_STEPS = 3


def check_simulator(
    suite: Suite, tasks: Sequence[Task], contract: Contract, seeds: tuple[int, int] | None
) -> None:
    """Simulate the first task from two seeds; step limits of all tasks."""
    for task in tasks:
        limit = suite.horizon(task)
        require(limit >= 1, suite, f"a step limit of {limit} steps")
    given = tuple(suite.evaluation_seeds(2))
    require(
        len(given) == len(set(given)) == 2,
        suite,
        f"evaluation_seeds(2) gave {given}; expected two distinct seeds",
    )
    _check_env(suite, tasks[0], contract, seeds or (given[0], given[1]))


def _check_env(suite: Suite, task: Task, contract: Contract, seeds: tuple[int, int]) -> None:
    demo = suite.demos(task, "train")[0]
    env = suite.make_env(task)
    require(isinstance(env, Env), suite, "make_env gave no Env (reset, step, observe, …)")
    seen = _replay(env, seeds[0], demo)
    _check_observation(suite, task, seen[0], contract)
    again = _replay(env, seeds[0], demo)
    same = all(_equal(one, two) for one, two in zip(seen, again, strict=True))
    require(same, suite, f"seed {seeds[0]} gave two different episodes for the same actions")
    other = env.reset(seeds[1])
    require(not _equal(seen[0], other), suite, f"seeds {seeds} give the same initial state")
    moved = env.step(demo.actions[0])
    require(isinstance(moved, bool), suite, f"step returned {moved!r}, expected True or False")


def _check_observation(suite: Suite, task: Task, seen: Observation, contract: Contract) -> None:
    require(
        seen.instruction == task.instruction,
        suite,
        f"the simulator says {seen.instruction!r}, the task {task.instruction!r}",
    )
    require(
        seen.state.shape == (len(contract.state),),
        suite,
        f"states of shape {seen.state.shape} when simulated; the contract names "
        f"{len(contract.state)} numbers",
    )
    size = (*contract.image_size, 3)
    for name in contract.cameras:
        require(name in seen.images, suite, f"the simulator has no camera {name!r}")
        drawn = seen.images[name]
        require(
            (drawn.shape, drawn.dtype) == (size, np.uint8),
            suite,
            f"camera {name!r} draws {drawn.dtype} of shape {drawn.shape}; the contract says uint8 "
            f"of shape {size}",
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
