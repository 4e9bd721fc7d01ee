"""What stage a scripted expert is in: the ground truth that phase boundaries are measured against.

Meta-World's experts are decision trees: at every step they take one arm of the `if` statements of
their own code, which sets where the hand goes and what the gripper does. The arms that run are the
stage. A segmenter never sees it: it is returned beside the demonstration, not in it.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import FrameType, ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo, Task
from phaser.suites.libraries import Expert
from phaser.suites.metaworld_env import MetaWorldEnv
from phaser.suites.recording import LAYOUT, Recording, demonstrate

Stage = frozenset[int]
"""First lines of the arms that ran, in the file of the expert's class."""

SHORTEST_STAGE = 5
"""Stages shorter than this many steps are a transition or a flicker, not a stage of their own."""


class StagedExpert(Expert):
    """The scripted expert of a task, watched while it decides; its actions are unchanged."""

    def __init__(self, task: str) -> None:
        super().__init__(task)
        self._file, self._arms = _arms(sys.modules[type(self._policy).__module__])

    def decide(self, full_state: Float[np.ndarray, "39"]) -> tuple[Float[np.ndarray, "4"], Stage]:
        """The action and the arms of the expert's own `if` statements that led to it."""
        lines: set[int] = set()

        def enter(frame: FrameType, event: str, argument: Any) -> Any:
            return each_line if frame.f_code.co_filename == self._file else None

        def each_line(frame: FrameType, event: str, argument: Any) -> Any:
            lines.add(frame.f_lineno)
            return each_line

        before = sys.gettrace()
        sys.settrace(enter)
        try:
            action = self.act(full_state)
        finally:
            sys.settrace(before)
        taken = (first for first, last in self._arms if not lines.isdisjoint(range(first, last)))
        return action, frozenset(taken)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StagedDemo:
    """A demonstration without images, and the stage of its expert at every step."""

    demo: Demo
    stages: tuple[Stage, ...]

    @property
    def boundaries(self) -> tuple[int, ...]:
        """First step of every lasting stage but the first: the true boundaries."""
        return tuple(step for _, step in lasting_stages(self.stages)[1:])


def staged_demo(
    env: MetaWorldEnv, seed: int, *, index: int = 0, recording: Recording | None = None
) -> StagedDemo | None:
    """The demonstration that `record_episode` records for this seed, unseen by any camera."""
    recording = recording or Recording()
    expert = StagedExpert(env.task.name)
    states: list[np.ndarray] = []
    actions: list[np.ndarray] = []
    stages: list[Stage] = []

    def decide() -> np.ndarray:
        action, stage = expert.decide(env.full_state)
        states.append(env.full_state[:4])
        actions.append(action)
        stages.append(stage)
        return action

    if not demonstrate(env, seed, recording, decide):
        return None
    demo = Demo(
        task=env.task.name,
        index=index,
        actions=np.array(actions, np.float32),
        states=np.array(states, np.float32),
        layout=LAYOUT,
    )
    return StagedDemo(demo=demo, stages=tuple(stages))


def staged_demos(
    task: Task, seeds: Sequence[int], *, count: int, recording: Recording | None = None
) -> tuple[StagedDemo, ...]:
    """The first `count` solved layouts among the seeds; fewer when the expert solves fewer."""
    env = MetaWorldEnv(task)
    found: list[StagedDemo] = []
    for seed in seeds:
        if len(found) == count:
            break
        if (one := staged_demo(env, seed, index=len(found), recording=recording)) is not None:
            found.append(one)
    return tuple(found)


def lasting_stages(
    stages: Sequence[Stage], *, shortest: int = SHORTEST_STAGE
) -> tuple[tuple[Stage, int], ...]:
    """The stages that last, each with its first step.

    What is shorter belongs to the stage that follows it, so a boundary lies where the stage before
    is left. Two lasting stretches of the same stage, with only short ones between, are one stage:
    an expert that hesitates at a threshold has not begun anything new.
    """
    changes = [step for step in range(1, len(stages)) if stages[step] != stages[step - 1]]
    found: list[tuple[Stage, int]] = []
    left_at = 0
    for start, stop in pairwise([0, *changes, len(stages)]):
        if stop - start < shortest:
            continue
        if not found or stages[start] != found[-1][0]:
            found.append((stages[start], left_at if found else 0))
        left_at = stop
    return tuple(found)


@cache
def _arms(module: ModuleType) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The file of an expert, and the line spans of all arms of all `if` statements in it."""
    file = inspect.getsourcefile(module) or ""
    tree = ast.parse(inspect.getsource(module))
    spans: set[tuple[int, int]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            spans.update(_span(arm) for arm in (node.body, node.orelse) if arm)
    return file, tuple(sorted(spans))


def _span(arm: Sequence[ast.stmt]) -> tuple[int, int]:
    return arm[0].lineno, (arm[-1].end_lineno or arm[-1].lineno) + 1
