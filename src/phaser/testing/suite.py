"""Check a suite: everything that `core.suite.Suite` promises.

The first thing that an adapter forgot is said in one line.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from phaser.core.contract import Contract
from phaser.core.demonstration import Demo, Task
from phaser.core.suite import SPLITS, Suite
from phaser.testing.suite_simulator import check_simulator
from phaser.testing.verdict import require

WITHOUT_DEFAULT = ("order", "contract", "tasks", "demos", "images_sha256", "cache")
"""Members that every suite has to bring itself; for the rest, `Suite` has the answers of one that
has no simulator and records nothing."""
_SAFE_NAME = re.compile(r"[^/\\\0]{1,150}")


def check_suite(suite: Suite, *, seeds: tuple[int, int] | None = None) -> None:
    """Read the demonstrations of all tasks, and simulate the first one where there is a simulator.

    seeds: two that the suite's simulator knows; by default those of its evaluation.
    """
    lacking = _lacking(suite)
    require(not lacking, suite, f"lacks {', '.join(lacking)}; see phaser.core.suite")
    contract = suite.contract
    require(
        isinstance(contract, Contract),
        suite,
        f"its contract is a {type(contract).__name__}; expected a phaser.core.contract.Contract",
    )
    require(isinstance(suite.cache, Path), suite, f"its cache is {suite.cache!r}; expected a Path")
    json.dumps(contract.to_json())
    json.dumps(suite.describe())
    tasks = suite.tasks()
    _check_tasks(suite, tasks)
    for task in tasks:
        suite.ensure_recorded(task)
        _check_task(suite, task, contract)
    missing = [task.name for task in suite.missing()]
    require(not missing, suite, f"missing() names {missing}, whose demonstrations were just read")
    if suite.has_simulator:
        check_simulator(suite, tasks, contract, seeds)
    else:
        found = suite.evaluation_seeds(1)
        require(not found, suite, f"evaluation_seeds gave {found}, but has_simulator is False")


def _lacking(suite: object) -> list[str]:
    """Names of the port that the suite does not have, or leaves as the port has them, empty."""
    port = {name: value for name, value in vars(Suite).items() if not name.startswith("_")}
    found = {name: inspect.getattr_static(suite, name, None) for name in port}
    return [
        name
        for name, value in found.items()
        if value is None or (name in WITHOUT_DEFAULT and value is port[name])
    ]


def _check_tasks(suite: Suite, tasks: Sequence[Task]) -> None:
    names = [task.name for task in tasks]
    require(
        bool(names) and len(set(names)) == len(names), suite, f"tasks {names}, expected distinct"
    )
    for task in tasks:
        require(
            bool(_SAFE_NAME.fullmatch(task.name)) and bool(task.instruction.strip()),
            suite,
            f"{task}: expected a name that fits into a file's, and words for the policy",
        )
    require(
        _turns_around(suite),
        suite,
        "in_order('reverse') does not give the tasks in reverse; make the suite a dataclass with a "
        "field 'order', or bring an in_order of its own",
    )


def _turns_around(suite: Suite) -> bool:
    try:
        forwards, backwards = (suite.in_order(order).tasks() for order in ("default", "reverse"))
    except TypeError:
        return False
    return tuple(backwards) == tuple(reversed(forwards))


def _check_task(suite: Suite, task: Task, contract: Contract) -> None:
    demos = {split: suite.demos(task, split) for split in SPLITS}
    for split in SPLITS:
        _check_demos(suite, task, demos[split], contract)
    for one in demos["heldout"]:
        same = [other.index for other in demos["train"] if _equal(one, other)]
        require(
            not same,
            suite,
            f"task {task.name!r}: held-out demonstration {one.index} is training demonstration "
            f"{same[:1]} as well",
        )
    hashes = [suite.images_sha256(task, split) for split in SPLITS for _ in range(2)]
    require(
        all(isinstance(one, str) and one for one in hashes)
        and hashes[0] == hashes[1] != hashes[2] == hashes[3],
        suite,
        f"task {task.name!r}: images_sha256 gave {hashes}; expected one hash per split, the same "
        "every time",
    )


def _check_demos(suite: Suite, task: Task, demos: Sequence[Demo], contract: Contract) -> None:
    where = f"task {task.name!r}"
    indices = [demo.index for demo in demos]
    require(
        bool(demos) and len(set(indices)) == len(indices),
        suite,
        f"{where} has demonstrations {indices}, expected at least one, distinct",
    )
    for demo in demos:
        one = f"{where}, demonstration {demo.index}"
        require(demo.task == task.name, suite, f"{where} has a demonstration of {demo.task!r}")
        found = (demo.states.shape[1], demo.actions.shape[1], demo.layout)
        expected = (len(contract.state), len(contract.action), contract.layout)
        require(
            found == expected,
            suite,
            f"{one}: states, actions and layout {found}; the contract says {expected}",
        )
        require(
            set(demo.cameras) == set(contract.cameras),
            suite,
            f"{one} has cameras {sorted(demo.cameras)}; the contract names "
            f"{sorted(contract.cameras)}",
        )
    for name, images in demos[0].cameras.items():
        pixels = images.read([0])
        size = (1, *contract.image_size, 3)
        require(
            (pixels.shape, pixels.dtype) == (size, np.uint8),
            suite,
            f"{where}: camera {name!r} gave {pixels.dtype} of shape {pixels.shape}; the contract "
            f"says uint8 of shape {size}",
        )


def _equal(one: Demo, two: Demo) -> bool:
    return np.array_equal(one.actions, two.actions) and np.array_equal(one.states, two.states)
