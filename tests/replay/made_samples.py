"""Small datasets in the shapes of other people's, and encoders without weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from phaser.core.demonstration import ActionLayout

LAYOUT = ActionLayout(motion=(0, 1, 2), gripper=(3,))
LENGTHS = (12, 15, 18)


def language(text: str) -> np.ndarray:
    """Words to a direction: sentences that share words are alike."""
    vector = np.zeros(32)
    for word in text.split():
        vector[sum(word.encode()) % 32] += 1
    return vector


def vision(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1, 3).mean(axis=1)


def actions_of(num_frames: int) -> np.ndarray:
    """A reach with an open gripper, then a carry with a closed one."""
    half = num_frames // 2
    first = np.tile([0.5, 0.2, -0.4, -1.0], (half, 1))
    second = np.tile([-0.3, 0.4, 0.6, 1.0], (num_frames - half, 1))
    return np.concatenate([first, second]).astype(np.float32)


def pixels_of(episode: int, frame: int) -> np.ndarray:
    rng = np.random.default_rng([episode, frame])
    return rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)


class ListDataset(list[dict[str, Any]]):
    """Samples in a list, with the layout of their actions."""

    layout = LAYOUT


def numpy_dataset(lengths: tuple[int, ...] = LENGTHS) -> ListDataset:
    """Dicts of arrays, text and PIL images, under LeRobot's names."""
    samples = ListDataset()
    for episode, length in enumerate(lengths):
        actions = actions_of(length)
        for frame in range(length):
            samples.append(
                {
                    "observation.images.top": Image.fromarray(pixels_of(episode, frame)),
                    "action": actions[frame],
                    "task": "lift the cup",
                    "episode_index": episode,
                    "frame_index": frame,
                }
            )
    return samples


def replay_in(folder: Any, **settings: Any) -> Any:
    """A memory whose encoders need no weights."""
    from phaser import Replay

    defaults = {"budget": 8, "language": language, "vision": vision}
    return Replay(folder / "memory", **(defaults | settings))


def learn(replay: Any, *instructions: str, dataset: Any = None) -> None:
    """Tasks that are over as soon as they begin."""
    for instruction in instructions:
        demos = numpy_dataset() if dataset is None else dataset
        with replay.task(demos, instruction=instruction):
            pass
