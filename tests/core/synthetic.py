"""Small made-up demonstrations and tasks whose phases and frames are known in advance."""

from __future__ import annotations

import numpy as np

from phaser.core.demonstration import ActionLayout, Demo, Task
from phaser.core.memory import PreparedTask, Prototype
from phaser.core.segmentation import Segmentation

LAYOUT = ActionLayout(motion=(0, 1, 2), gripper=(3,))


def scripted_demo(
    lengths=(12, 6, 14),
    *,
    index=0,
    task="lift",
    gripper=(-1.0, 1.0, 1.0),
    directions=((1.0, 0.0, -1.0), (0.0, 0.0, 0.0), (0.0, 1.0, 1.0)),
):
    """One constant motion and gripper command per stretch."""
    rows = [
        np.tile([*motion, command], (length, 1))
        for length, motion, command in zip(lengths, directions, gripper, strict=True)
    ]
    actions = np.concatenate(rows).astype(np.float64)
    states = np.zeros((len(actions), 4))
    return Demo(task=task, index=index, actions=actions, states=states, layout=LAYOUT)


def prepared_task(name="lift", *, num_demos=4, lengths=(20, 4, 30), seed=0):
    """A task whose demonstrations all have phases of these lengths, with random prototypes."""
    rng = np.random.default_rng(seed)
    labels = tuple(f"phase_{position}" for position in range(len(lengths)))
    num_frames = sum(lengths)
    demos = tuple(
        Demo(
            task=name,
            index=index,
            actions=rng.normal(size=(num_frames, 4)),
            states=np.zeros((num_frames, 4)),
            layout=LAYOUT,
        )
        for index in range(num_demos)
    )
    boundaries = np.cumsum(lengths)[:-1].tolist()
    segmentation = Segmentation.from_boundaries(boundaries, num_frames=num_frames, labels=labels)
    language = rng.normal(size=8)
    prototypes = tuple(
        Prototype(
            language=language,
            vision=rng.normal(size=6),
            action=rng.normal(size=4),
            motion=LAYOUT.motion,
        )
        for _ in lengths
    )
    return PreparedTask(
        task=Task(name=name, instruction=f"do {name}"),
        demos=demos,
        segmentations=(segmentation,) * num_demos,
        prototypes=prototypes,
    )
