"""Demonstrations with true boundaries for the segmentation benchmark, plain and as if by people."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.teleoperation import STYLES
from phaser.core.demonstration import Demo
from phaser.core.segmentation import Segmentation
from phaser.core.streams import Streams
from phaser.suites.lasting_stages import SHORTEST_STAGE, lasting_stages
from phaser.suites.metaworld.expert_stages import StagedDemo, staged_demos
from phaser.suites.metaworld.seeds import SEEDS
from phaser.suites.metaworld.staged_expert import Stage
from phaser.suites.metaworld.tasks import INSTRUCTIONS, task_named

DEMOS_PER_TASK = 5
TRIES = 40


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Example:
    """A demonstration, its true boundaries, and which stage each of them enters."""

    demo: Demo
    boundaries: tuple[int, ...]
    entered: tuple[tuple[Stage, int], ...]
    """The stage and the how-manieth time it is entered: the same event in all demonstrations."""
    style: str

    @property
    def truth(self) -> Segmentation:
        return segmentation(self.boundaries, self.demo.num_frames)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TaskExamples:
    """The examples of one task: to learn its phases from, and held out."""

    task: str
    scripted: tuple[Example, ...]
    scripted_heldout: tuple[Example, ...]
    teleoperated: tuple[Example, ...]
    teleoperated_heldout: tuple[Example, ...]

    @property
    def chooses(self) -> bool:
        """True where settings may be chosen on this task; fixed by its name, for ever."""
        return chooses(self.task)


def chooses(task: str) -> bool:
    """Half of all names, by their hash."""
    return hashlib.sha256(task.encode()).digest()[-1] % 2 == 0


def segmentation(boundaries: Sequence[int], num_frames: int) -> Segmentation:
    names = [f"phase_{position}" for position in range(len(boundaries) + 1)]
    return Segmentation.from_boundaries(boundaries, num_frames=num_frames, labels=names)


Rollouts = dict[str, dict[str, tuple[StagedDemo, ...]]]


def roll_out(tasks: Sequence[str] = tuple(INSTRUCTIONS)) -> Rollouts:
    """Demonstrations of every task, by split; the slow part."""
    return {
        name: {
            split: staged_demos(task_named(name), SEEDS[split][:TRIES], count=DEMOS_PER_TASK)
            for split in ("train", "heldout")
        }
        for name in tasks
    }


def examples(rollouts: Rollouts, *, shortest: int = SHORTEST_STAGE) -> tuple[TaskExamples, ...]:
    """With the boundaries between stages that last at least so many steps."""
    return tuple(_task_examples(name, splits, shortest) for name, splits in rollouts.items())


def _task_examples(
    name: str, splits: dict[str, tuple[StagedDemo, ...]], shortest: int
) -> TaskExamples:
    plain = {
        split: tuple(_example(one.demo, one.stages, shortest) for one in staged)
        for split, staged in splits.items()
    }
    by_people = {
        split: tuple(_by_people(one, split) for one in those) for split, those in plain.items()
    }
    return TaskExamples(
        task=name,
        scripted=plain["train"],
        scripted_heldout=plain["heldout"],
        teleoperated=by_people["train"],
        teleoperated_heldout=by_people["heldout"],
    )


def scripted_example(staged: StagedDemo) -> Example:
    """An expert's demonstration with its true boundaries."""
    return _example(staged.demo, staged.stages, SHORTEST_STAGE)


def _example(demo: Demo, stages: Sequence[Stage], shortest: int) -> Example:
    lasting = lasting_stages(stages, shortest=shortest)[1:]
    times: Counter[Stage] = Counter()
    entered = []
    for stage, _ in lasting:
        times[stage] += 1
        entered.append((stage, times[stage]))
    boundaries = tuple(step for _, step in lasting)
    return Example(demo=demo, boundaries=boundaries, entered=tuple(entered), style="scripted")


def _by_people(example: Example, split: str) -> Example:
    """One style for each of the five demonstrations of a task."""
    demo = example.demo
    style = list(STYLES)[demo.index % len(STYLES)]
    rng = Streams(0).named("teleoperation", demo.task, split, demo.index)()
    actions, boundaries = STYLES[style](demo.actions.astype(float), example.boundaries, rng)
    # Only actions are changed, so there are no states that would belong to them.
    styled = Demo(
        task=demo.task,
        index=demo.index,
        actions=actions,
        states=actions[:, :0],
        layout=demo.layout,
    )
    return Example(demo=styled, boundaries=boundaries, entered=example.entered, style=style)
