"""Made-up demonstrations and tasks, so that a rule can be checked without a simulator."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import ActionLayout, Demo, Task
from phaser.core.memory import PreparedTask, Prototype
from phaser.core.segmentation import Segmentation
from phaser.core.streams import Streams

LAYOUT = ActionLayout(motion=(0, 1, 2), gripper=(3,))
PHASE_LENGTHS = (24, 9, 30)
LANGUAGE_SIZE, VISION_SIZE = 8, 6


def made_up_demos(name: str = "lift", *, num_demos: int = 4) -> tuple[Demo, ...]:
    """Reach, grasp, carry: one direction and gripper command per stretch, lengths vary."""
    rng = Streams(0).named("made-up demos", name)()
    directions = rng.uniform(-1, 1, (len(PHASE_LENGTHS), 3))
    return tuple(_demo(name, index, directions, rng) for index in range(num_demos))


def made_up_task(name: str = "lift", *, num_demos: int = 4) -> PreparedTask:
    """A task of three phases; one name always gives the same task."""
    demos = made_up_demos(name, num_demos=num_demos)
    rng = Streams(0).named("made-up prototypes", name)()
    language = rng.normal(size=LANGUAGE_SIZE)
    prototypes = tuple(
        Prototype(
            language=language,
            vision=rng.normal(size=VISION_SIZE),
            action=rng.normal(size=4),
            motion=LAYOUT.motion,
        )
        for _ in PHASE_LENGTHS
    )
    return PreparedTask(
        task=Task(name=name, instruction=f"{name} the cup"),
        demos=demos,
        segmentations=tuple(_segmentation(demo) for demo in demos),
        prototypes=prototypes,
    )


def _lengths(index: int) -> tuple[int, ...]:
    """Every demonstration is a little longer than the one before."""
    return tuple(length + index for length in PHASE_LENGTHS)


def _demo(
    name: str, index: int, directions: Float[np.ndarray, "phases 3"], rng: np.random.Generator
) -> Demo:
    stretches = [
        np.tile([*direction, -1.0 if stretch == 0 else 1.0], (length, 1))
        for stretch, (direction, length) in enumerate(zip(directions, _lengths(index), strict=True))
    ]
    actions = np.concatenate(stretches)
    actions[:, :3] += rng.normal(0, 0.01, (len(actions), 3))
    states = np.cumsum(actions, axis=0) * 0.01
    return Demo(task=name, index=index, actions=actions, states=states, layout=LAYOUT)


def _segmentation(demo: Demo) -> Segmentation:
    boundaries = np.cumsum(_lengths(demo.index))[:-1].tolist()
    labels = ("reach", "grasp", "carry")
    return Segmentation.from_boundaries(boundaries, num_frames=demo.num_frames, labels=labels)
