"""Demonstrations by hand with true boundaries, made from the experts of Meta-World and LIBERO."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from benchmarks.hard_teleoperation import HARD_STYLES
from benchmarks.stage_truth import Example, Rollouts, chooses, scripted_example
from phaser.core.demonstration import Demo
from phaser.core.streams import Streams

DEMOS_PER_TASK = 50
_SHORTEST_GRIP = 5


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HandTask:
    """One task as fifty people give it, each in one of the styles."""

    suite: str
    task: str
    examples: tuple[Example, ...]

    @property
    def chooses(self) -> bool:
        """True where settings may be chosen on this task; fixed by its name, for ever."""
        return chooses(self.task)


def metaworld_tasks(rollouts: Rollouts) -> Iterator[HandTask]:
    """All demonstrations of every task, training and held-out ones."""
    for name, splits in rollouts.items():
        scripted = [scripted_example(one) for staged in splits.values() for one in staged]
        yield by_hand("Meta-World", name, scripted)


def libero_tasks(scripted: Mapping[str, Sequence[Example]]) -> Iterator[HandTask]:
    for name, examples in scripted.items():
        yield by_hand("LIBERO", name, examples)


def by_hand(suite: str, task: str, scripted: Sequence[Example]) -> HandTask:
    """Fifty demonstrations: each scripted one several times, the styles in turn."""
    styles = list(HARD_STYLES)
    steady = [_steady(one) for one in scripted]
    examples = tuple(
        _styled(steady[number % len(steady)], styles[number % len(styles)], number)
        for number in range(DEMOS_PER_TASK)
    )
    return HandTask(suite=suite, task=task, examples=examples)


def gripper_changes(example: Example) -> list[int]:
    """The steps at which the gripper's command changes: what must be found in any case."""
    gripper = example.demo.actions[:, -1]
    return [int(step) + 1 for step in np.flatnonzero(np.diff(gripper) != 0)]


def _styled(example: Example, style: str, number: int) -> Example:
    demo = example.demo
    rng = Streams(0).named("by hand", demo.task, number)()
    actions, boundaries = HARD_STYLES[style](demo.actions.astype(float), example.boundaries, rng)
    # Only actions are changed, so there are no states that would belong to them.
    styled = Demo(
        task=demo.task,
        index=number,
        actions=actions,
        states=actions[:, :0],
        layout=demo.layout,
    )
    return Example(demo=styled, boundaries=boundaries, entered=(), style=style)


def _steady(example: Example) -> Example:
    """The same demonstration without flicker of the gripper, which scripts have and people not."""
    actions = example.demo.actions.copy()
    actions[:, -1] = _without_flicker(actions[:, -1])
    return replace(example, demo=replace(example.demo, actions=actions))


def _without_flicker(gripper: Float[np.ndarray, "frames"]) -> Float[np.ndarray, "frames"]:
    """Commands that last fewer than five steps are as the one before."""
    steady = gripper.copy()
    edges = [0, *(np.flatnonzero(np.diff(gripper) != 0) + 1).tolist(), len(gripper)]
    for start, stop in pairwise(edges[1:]):
        if stop - start < _SHORTEST_GRIP and stop < len(gripper):
            steady[start:stop] = steady[start - 1]
    return steady
