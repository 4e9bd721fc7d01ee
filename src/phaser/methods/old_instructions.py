"""Frames of a new task under the instructions of earlier ones: the same scene, another motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.memory import Memory, PreparedTask
from phaser.methods.answers import answers
from phaser.methods.rehearse import BegunTask
from phaser.routing.priority import cosines

ASKED = "asked of "
"""Put before an earlier task's name, it names the frames under that task's instruction."""


def frames_under_old_instructions(
    begun: BegunTask, *, same_scene: float, count: int
) -> dict[str, int]:
    """Add frames of the new task, evenly spread, under the instruction of every earlier task in
    its scene, with what the policy answers before it learns the new one.

    Returns the names of the added groups of frames, with the number of frames in each.
    """
    spread = np.unique(np.linspace(0, len(begun.frames) - 1, count).round().astype(int))
    current = [begun.frames[place] for place in spread]
    found: dict[str, int] = {}
    for task, stored in tasks_in_scene(begun.memory, begun.task, same_scene).items():
        samples = begun.rows.samples(current)
        instruction = begun.rows.samples([stored]).instructions[0]
        asked = replace(
            samples,
            instructions=(instruction,) * len(current),
            valid=np.ones_like(samples.valid),
        )
        asked = replace(asked, actions=answers(begun.policy, asked))
        begun.rows.imagine(ASKED + task, asked)
        found[ASKED + task] = len(current)
    return found


def tasks_in_scene(memory: Memory, task: PreparedTask, same_scene: float) -> dict[str, FrameRef]:
    """Earlier tasks that look like the new one, each with one of its stored frames."""
    of_task: dict[str, list[np.ndarray]] = {}
    first: dict[str, FrameRef] = {}
    for bucket in memory.buckets:
        of_task.setdefault(bucket.phase.task, []).append(bucket.prototype.vision)
        first.setdefault(bucket.phase.task, bucket.frames[0])
    means = [np.mean(sights, axis=0) for sights in of_task.values()]
    seen = np.mean([prototype.vision for prototype in task.prototypes], axis=0)
    together = np.stack([*means, seen])
    together = together - together.mean(axis=0)
    alike = cosines(together[:-1], together[-1:])[:, 0]
    return {
        name: first[name] for name, value in zip(of_task, alike, strict=True) if value > same_scene
    }
