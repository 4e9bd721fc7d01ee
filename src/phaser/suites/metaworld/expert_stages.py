"""What stages a scripted expert goes through: the truth that phase boundaries are measured against.

A segmenter never sees it: it is returned beside the demonstration, not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from phaser.core.demonstration import Demo, Task
from phaser.core.errors import BadInput
from phaser.demos.lerobot import open_dataset
from phaser.suites.lasting_stages import lasting_stages
from phaser.suites.metaworld.env import MetaWorldEnv
from phaser.suites.metaworld.recorded_stages import read_stages, write_stages
from phaser.suites.metaworld.recording import LAYOUT, MetaWorldRecording, follow_expert
from phaser.suites.metaworld.seeds import SEEDS
from phaser.suites.metaworld.staged_expert import Stage


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
    env: MetaWorldEnv, seed: int, *, index: int = 0, recording: MetaWorldRecording | None = None
) -> StagedDemo | None:
    """The demonstration that `record_episode` records for this seed, unseen by any camera."""
    followed = follow_expert(
        env, seed, recording or MetaWorldRecording(), lambda: env.full_state[:4].copy()
    )
    if followed is None:
        return None
    demo = Demo(
        task=env.task.name,
        index=index,
        actions=followed.actions,
        states=np.array(followed.seen, np.float32),
        layout=LAYOUT,
    )
    return StagedDemo(demo=demo, stages=followed.stages)


def staged_demos(
    task: Task, seeds: Sequence[int], *, count: int, recording: MetaWorldRecording | None = None
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


def kept_stages(
    cache: Path, task: Task, split: str, recording: MetaWorldRecording
) -> tuple[tuple[Stage, ...], ...]:
    """The stages kept beside a recording.

    A recording from before they were kept gets them now: its expert acts once more on the same
    layouts, and must do exactly what was recorded.
    """
    folder = recording.folder(cache, task, split)
    if (kept := read_stages(folder)) is not None:
        return kept
    demos = open_dataset(folder).demos()
    again = staged_demos(task, SEEDS[split], count=len(demos), recording=recording)
    for demo, one in zip(demos, again, strict=True):
        if not np.array_equal(demo.actions, one.demo.actions):
            raise BadInput(
                f"demonstration {demo.index} in {folder} is not what the expert does here, so its "
                "stages are not known; delete the folder to record it again"
            )
    stages = tuple(one.stages for one in again)
    write_stages(folder, task, stages)
    return stages
