"""Ranges of the actions and states of given LIBERO files, for policies that scale by them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from phaser.core.contract import Statistics
from phaser.core.demonstration import Task
from phaser.demos.vector_statistics import statistics_of
from phaser.suites.libero.given import GivenFiles


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranges:
    """Statistics over the training demonstrations of all tasks of a run."""

    actions: Statistics
    states: Statistics


@cache
def ranges_of(files: GivenFiles, tasks: tuple[Task, ...]) -> Ranges:
    """The ranges of these tasks, read once per process; no image is read."""
    demos = [demo for task in tasks for demo in files.demos(task, "train")]
    return Ranges(
        actions=statistics_of(demo.actions for demo in demos),
        states=statistics_of(demo.states for demo in demos),
    )
