"""Tiny tasks that overwrite each other, a policy and a loader: for examples and tests, in seconds.

A hand reaches for a cup, grasps it and carries it to one side. All tasks look alike up to the
grasp; only the instruction says where the cup goes. A policy that learns one task after the other
without rehearsal carries every cup to the side it learnt last.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

from phaser.core.demonstration import ActionLayout
from phaser.core.streams import Streams

SIDES = {"left": (-1.0, 0.0, 0.3), "right": (1.0, 0.0, 0.3), "back": (0.0, 1.0, 0.3)}
REACH, GRASP, CARRY = 20, 5, 15
"""Frames of each phase in the first demonstration; every next one is a frame longer in each."""
IMAGE_SIDE, WORD_SIZE, SPEED = 32, 16, 0.05


class ToyDemos(Dataset[dict[str, Any]]):
    """The demonstrations of one task as a map-style dataset with LeRobot's names."""

    layout = ActionLayout(motion=(0, 1, 2), gripper=(3,))

    def __init__(self, side: str, *, num_demos: int = 8) -> None:
        self.instruction = f"carry the cup to the {side}"
        rng = Streams(0).named("toy demos", side)()
        demos = [_demo(side, index, rng) for index in range(num_demos)]
        lengths = [len(actions) for actions, _ in demos]
        self._columns = {
            "action": torch.cat([actions for actions, _ in demos]),
            "observation.state": torch.cat([states for _, states in demos]),
            "episode_index": torch.repeat_interleave(
                torch.arange(num_demos), torch.tensor(lengths)
            ),
            "frame_index": torch.cat([torch.arange(length) for length in lengths]),
        }

    def __len__(self) -> int:
        return len(self._columns["action"])

    def __getitem__(self, row: int) -> dict[str, Any]:
        sample = {name: values[row] for name, values in self._columns.items()}
        image = _image(sample["observation.state"])
        return {"observation.images.top": image, **sample, "task": self.instruction}

    def column(self, name: str) -> Tensor:
        """All rows of one entry, without drawing an image."""
        return self._columns[name]


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """What the policy answers: the loss of a batch and the actions it would take."""

    loss: Float[Tensor, ""]
    actions: Float[Tensor, "batch 4"]


class ToyPolicy(nn.Module):
    """State, a coarse image and the words of the instruction to one action."""

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.layers = nn.Sequential(
                nn.Linear(4 + 48 + WORD_SIZE, 64),
                nn.ReLU(),
                nn.Linear(64, 64),
                nn.ReLU(),
                nn.Linear(64, 4),
            )

    def forward(self, batch: dict[str, Any]) -> Output:
        image = nn.functional.avg_pool2d(batch["observation.images.top"], 8).flatten(1)
        words = torch.stack([_words(text) for text in batch["task"]]).to(image.device)
        actions = self.layers(torch.cat([batch["observation.state"], image, words], 1))
        return Output(nn.functional.mse_loss(actions, batch["action"]), actions)


def tasks(*sides: str) -> Iterator[tuple[str, ToyDemos]]:
    """Instruction and demonstrations of each task, in order; left, then right, unless told."""
    for side in sides or ("left", "right"):
        demos = ToyDemos(side)
        yield demos.instruction, demos


def loader(
    demos: Any, *, num_steps: int = 120, batch_size: int = 16, seed: int = 0, **options: Any
) -> DataLoader[Any]:
    """That many random batches; `options` are the DataLoader's own."""
    generator = torch.Generator().manual_seed(seed)
    chosen = RandomSampler(
        demos, replacement=True, num_samples=num_steps * batch_size, generator=generator
    )
    return DataLoader(demos, batch_size=batch_size, sampler=chosen, **options)


def language(instruction: str) -> Float[np.ndarray, "words"]:
    """A stand-in for a language encoder: the vector of an instruction's words."""
    return _words(instruction).numpy()


def vision(images: UInt8[np.ndarray, "count height width 3"]) -> Float[np.ndarray, "count sight"]:
    """A stand-in for a vision encoder: each image in 16 coarse squares."""
    coarse = nn.functional.adaptive_avg_pool2d(
        torch.from_numpy(images).permute(0, 3, 1, 2) / 255, 4
    )
    return coarse.flatten(1).numpy()


@torch.no_grad()
def error(policy: ToyPolicy, demos: ToyDemos) -> float:
    """Mean squared error over all frames of a task."""
    return float(policy(next(iter(DataLoader(demos, batch_size=len(demos))))).loss)


def _demo(side: str, index: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Actions (velocity, gripper) and the states (position, gripper) that they start from."""
    start = np.array([0.0, -0.6, 0.6]) + rng.normal(0, 0.05, 3)
    cup = np.array([0.0, 0.0, 0.0]) + rng.normal(0, 0.05, 3)
    goal = cup + 0.8 * np.array(SIDES[side])
    legs = [(start, cup, REACH, -1.0), (cup, cup, GRASP, 1.0), (cup, goal, CARRY, 1.0)]
    actions, states = [], []
    for begin, end, frames, gripper in legs:
        count = frames + index
        way = np.linspace(0, 1, count, endpoint=False)[:, None]
        speed = np.tile((end - begin) / (SPEED * count), (count, 1))
        actions.append(np.c_[speed, np.full(count, gripper)])
        states.append(np.c_[begin + way * (end - begin), np.full(count, gripper)])
    # The gripper's state follows its command one frame later, so that a state tells the phase.
    table = np.concatenate(states)
    table[1:, 3] = np.concatenate(actions)[:-1, 3]
    return (
        torch.from_numpy(np.concatenate(actions)).float(),
        torch.from_numpy(table).float(),
    )


def _image(state: Float[Tensor, "4"]) -> Float[Tensor, "3 side side"]:
    """Seen from above: the hand, red while open and green while closed, over a grey table."""
    image = torch.full((3, IMAGE_SIDE, IMAGE_SIDE), 64, dtype=torch.uint8)
    column, row = ((state[:2] + 1.2) / 2.4 * IMAGE_SIDE).long().clamp(2, IMAGE_SIDE - 3).tolist()
    channel = 0 if state[3] < 0 else 1
    image[channel, row - 2 : row + 3, column - 2 : column + 3] = 255
    return image.float() / 255


@cache
def _words(text: str) -> Float[Tensor, "words"]:
    """The sum of one fixed random vector per word."""
    vectors = [
        Streams(0).named("toy word", zlib.crc32(word.encode()))().normal(size=WORD_SIZE)
        for word in text.split()
    ]
    return torch.from_numpy(np.sum(vectors, axis=0)).float()
