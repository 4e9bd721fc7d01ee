"""Rehearse earlier tasks through the hooks of AlphaBrain's and starVLA's trainers.

    python examples/05_replay_alphabrain_style.py

Their batches are lists of dicts (`image`, `lang`, `action`, …). Where their code builds a
continual-learning algorithm by name, return an `AlphaBrainReplay` instead; it has the hooks that
the trainer calls and imports nothing of theirs. Below is the trainer's loop, boiled down.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from phaser import Columns, Replay
from phaser.replay.alphabrain import AlphaBrainReplay
from phaser.testing import toy


@dataclass
class Context:
    """What their trainer hands to the hooks of a task."""

    task_id: int
    task_dataset: Any


class StepsOfTask:
    """A task's samples in their form: two PIL images, the instruction, a chunk of actions."""

    def __init__(self, side: str) -> None:
        self.recorded = toy.ToyDemos(side)

    def __len__(self) -> int:
        return len(self.recorded)

    def __getitem__(self, row: int) -> dict[str, Any]:
        frame = self.recorded[row]
        pixels = (frame["observation.images.top"] * 255).byte().permute(1, 2, 0).numpy()
        image = Image.fromarray(pixels)
        chunk = np.repeat(frame["action"].numpy()[None], 8, axis=0).astype(np.float16)
        return {"image": [image, image], "lang": frame["task"], "action": chunk, "robot_tag": "toy"}

    def column(self, name: str) -> Any:
        """Episode and frame numbers, which their samples do not carry; a KeyError for the rest."""
        return {part: self.recorded.column(part) for part in ("episode_index", "frame_index")}[name]


def coarse_colours(images: np.ndarray) -> np.ndarray:
    """Any encoder of yours: images (count, height, width, 3) to one vector each."""
    return images[:, ::8, ::8].reshape(len(images), -1) / 255


def main(folder: Path) -> None:
    replay = Replay(
        folder / "memory",
        method="phaser",
        budget=60,
        layout="metaworld",
        columns=Columns(images=("image",)),
        vision=coarse_colours,
    )
    algorithm = AlphaBrainReplay(replay)
    for task_id, side in enumerate(("left", "right", "back")):
        dataset = StepsOfTask(side)
        context = Context(task_id, dataset)
        algorithm.on_task_start(context)
        seen: Counter[str] = Counter()
        for batch in toy.loader(dataset, num_steps=20, batch_size=4, collate_fn=list):
            algorithm.observe(batch, task_id)
            batch = algorithm.modify_batch(batch, task_id)
            seen.update(sample["lang"].split()[-1] for sample in batch)
            # loss = model(batch) + penalty; backward; after_backward; optimiser step
        algorithm.on_task_end(context)
        print(f"task {task_id}: trained on {dict(seen)}")
    print(algorithm.describe().replace(f"{folder}/", ""))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
