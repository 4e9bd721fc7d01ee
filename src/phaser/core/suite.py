"""The suite port: a named list of tasks with demonstrations and, where there is one, a simulator.

A suite is a frozen dataclass of settings. Everything that is used of it is stated here; whoever
inherits from `Suite` gets the defaults of a suite that has no simulator and records nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from phaser.core.contract import Contract
from phaser.core.demonstration import Demo, Task
from phaser.core.errors import BadInput
from phaser.core.policy import Observation
from phaser.core.segmentation import Segmentation

SPLITS = ("train", "heldout")
"""Demonstrations that are learnt from, and those that only measure."""

DERIVED = {"derived": True}
"""Metadata of a field that the suite finds itself: written into run.json, but no flag."""

Milestones = tuple[tuple[str, bool], ...]
"""Sub-goals of an episode in their order, each with a flag: reached so far or not."""


@runtime_checkable
class Env(Protocol):
    """One simulated robot, at one initial state."""

    def reset(self, seed: int) -> Observation:
        """The initial state of a seed, whatever happened before."""
        ...

    def step(self, action: Float[np.ndarray, "action"]) -> bool:
        """One control step; True once the episode counts as solved."""
        ...

    def observe(self) -> Observation:
        """What the policy sees now."""
        ...

    def milestones(self) -> Milestones:
        """How far the episode came, where the simulator can tell."""
        return ()

    def close(self) -> None:
        """Free what the simulator holds."""
        return None


@runtime_checkable
class Suite(Protocol):
    """Tasks in the order in which they are learnt."""

    @property
    def order(self) -> str:
        """The order of the tasks: a field of the settings, "default" or "reverse" at least."""
        ...

    def for_seed(self, seed: int) -> Suite:
        """The suite as a run with this seed meets it: streams that are drawn at random differ."""
        return self

    @property
    def contract(self) -> Contract:
        """What a policy of this suite sees and commands."""
        ...

    def tasks(self) -> tuple[Task, ...]:
        """The tasks in the order in which they are learnt."""
        ...

    def in_order(self, order: str) -> Suite:
        """The same suite with its tasks in another order."""
        changed: Suite = replace(self, order=order)  # type: ignore[type-var]
        return changed

    def demos(self, task: Task, split: str) -> tuple[Demo, ...]:
        """The demonstrations of a task, recorded now if they are not there yet.

        Args:
            task: one of `tasks()`.
            split: "train" for those that are learnt from, "heldout" for those that only measure.
        """
        ...

    def images_sha256(self, task: Task, split: str) -> str:
        """A hash of the recorded images, by which cached features are looked up.

        Args:
            task: one of `tasks()`.
            split: "train" or "heldout".
        """
        ...

    @property
    def cache(self) -> Path:
        """The folder for recordings and cached features."""
        ...

    def missing(self) -> list[Task]:
        """Tasks whose demonstrations are not recorded yet, or are gone, in order."""
        return []

    def require(self) -> None:
        """Raise MissingDependency where this machine lacks something, before anything starts."""
        return None

    def ensure_recorded(self, task: Task, each: Callable[[], None] = lambda: None) -> None:
        """Record the demonstrations of a task that are missing.

        Args:
            task: one of `tasks()`.
            each: called after each demonstration, for progress.
        """
        return None

    def demos_to_record(self, task: Task) -> int | None:
        """Demonstrations that a recording of the task has, where that is known; for progress.

        Args:
            task: one of `tasks()`.
        """
        return None

    @property
    def has_simulator(self) -> bool:
        """False for a suite of demonstrations alone: success is then not measured."""
        return False

    def make_env(self, task: Task) -> Env:
        """A simulator of the task."""
        raise BadInput(f"{type(self).__name__} has no simulator for {task.name!r}")

    def horizon(self, task: Task) -> int:
        """Control steps of an episode."""
        raise BadInput(f"{type(self).__name__} has no simulator for {task.name!r}")

    def evaluation_seeds(self, count: int) -> tuple[int, ...]:
        """Initial states that no demonstration starts from, the same for every method."""
        return ()

    def recorded_phases(self, task: Task) -> Mapping[int, Segmentation]:
        """Phases that the recordings of a task carry themselves, by a demonstration's number."""
        raise BadInput(
            f"recordings of {type(self).__name__} carry no phases; leave out --phases dataset, or "
            "name a stage_info.json"
        )

    def describe(self) -> dict[str, Any]:
        """Whatever else belongs into the provenance of a result, as JSON."""
        return {}
