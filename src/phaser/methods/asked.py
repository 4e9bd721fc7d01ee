"""Frames of a new task under the instructions of earlier ones: the same scene, another motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.memory import Memory, PreparedTask
from phaser.methods.answers import answers
from phaser.methods.penalty import BegunTask
from phaser.routing.priority import cosines

ASKED = "asked of "
"""Before an earlier task's name, the frames under its instruction."""


def asked_frames(begun: BegunTask, *, same_scene: float, count: int) -> dict[str, int]:
    """Frames of the new task, evenly spread, under the instruction of every earlier task in its
    scene, with what the policy answers before it learns the new one: their names and numbers."""
    import torch

    spread = np.unique(np.linspace(0, len(begun.frames) - 1, count).round().astype(int))
    current = [begun.frames[place] for place in spread]
    found: dict[str, int] = {}
    for task, stored in tasks_in_scene(begun.memory, begun.task, same_scene).items():
        batch = begun.rows.batch(current)
        language = begun.rows.batch([stored]).language.repeat(len(current), 1)
        asked = replace(batch, language=language, valid=torch.ones_like(batch.valid))
        said = answers(begun.policy, asked)
        begun.rows.imagine(ASKED + task, replace(asked, actions=said))
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
