"""Rehearse earlier tasks in a training loop of your own, with a dataset of your own names.

    python examples/03_replay_plain_pytorch.py

Three tiny tasks one after the other, first without a memory, then with one: what is left of each
at the end. No simulator and no network are needed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from phaser import Columns, Replay
from phaser.testing import toy

SIDES = ("left", "right", "back")
COLUMNS = Columns(episode="episode", frame="time", action="command", images=("camera",))


class MyDataset(Dataset[dict[str, Any]]):
    """Map-style: len and indexing. Samples carry their episode and frame, the rest is yours."""

    def __init__(self, side: str) -> None:
        self.recorded = toy.ToyDemos(side)

    def __len__(self) -> int:
        return len(self.recorded)

    def __getitem__(self, row: int) -> dict[str, Any]:
        frame = self.recorded[row]
        return {
            "camera": frame["observation.images.top"],
            "arm": frame["observation.state"],
            "command": frame["action"],
            "goal": torch.tensor([float(word in frame["task"]) for word in toy.SIDES]),
            "episode": int(frame["episode_index"]),
            "time": int(frame["frame_index"]),
        }


def main() -> None:
    for method in ("sequential", "phaser"):
        with tempfile.TemporaryDirectory() as folder:
            replay = Replay(
                Path(folder) / "memory",
                method=method,
                budget=60,
                layout="metaworld",
                columns=COLUMNS,
            )
            errors = learn(replay)
        shown = ", ".join(f"{side} {error:.3f}" for side, error in errors.items())
        print(f"{method:10}  error after the last task: {shown}")


def learn(replay: Replay) -> dict[str, float]:
    torch.manual_seed(0)
    policy = nn.Sequential(
        nn.Linear(7, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)
    )
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for side in SIDES:
        demos = MyDataset(side)
        with replay.task(demos, instruction=f"carry the cup to the {side}") as task:
            for batch in toy.loader(demos):
                loss_of(policy, task.mix(batch)).backward()
                optimizer.step()
                optimizer.zero_grad()
    return {side: whole_error(policy, MyDataset(side)) for side in SIDES}


def loss_of(policy: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    inputs = torch.cat([batch["arm"], batch["goal"]], 1)
    return nn.functional.mse_loss(policy(inputs), batch["command"])


@torch.no_grad()
def whole_error(policy: nn.Module, demos: MyDataset) -> float:
    return float(loss_of(policy, next(iter(DataLoader(demos, batch_size=len(demos))))))


if __name__ == "__main__":
    main()
