"""A scripted expert that is watched while it decides: which stage of its own code it is in.

Meta-World's experts are decision trees: at every step they take one arm of the `if` statements of
their own code, which sets where the hand goes and what the gripper does. The arms that run are the
stage.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Sequence
from functools import cache
from types import FrameType, ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.suites.metaworld.libraries import Expert

Stage = frozenset[int]
"""First lines of the arms that ran, in the file of the expert's class."""


class StagedExpert(Expert):
    """The scripted expert of a task, watched while it decides; its actions are unchanged."""

    def __init__(self, task: str) -> None:
        super().__init__(task)
        self._file, self._arms = _arms(sys.modules[type(self._policy).__module__])

    @property
    def conditions(self) -> dict[int, str]:
        """When each arm is taken, in the expert's own words, by the arm's first line."""
        return {first: condition for (first, _), condition in self._arms.items()}

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


@cache
def _arms(module: ModuleType) -> tuple[str, dict[tuple[int, int], str]]:
    """The file of an expert, and the line spans of all arms of all `if` statements in it."""
    file = inspect.getsourcefile(module) or ""
    tree = ast.parse(inspect.getsource(module))
    spans: dict[tuple[int, int], str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            condition = ast.unparse(node.test)
            spans.setdefault(_span(node.body), condition)
            if node.orelse:
                spans.setdefault(_span(node.orelse), f"not ({condition})")
    return file, dict(sorted(spans.items()))


def _span(arm: Sequence[ast.stmt]) -> tuple[int, int]:
    return arm[0].lineno, (arm[-1].end_lineno or arm[-1].lineno) + 1
