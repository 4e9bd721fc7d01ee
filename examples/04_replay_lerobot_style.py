"""Rehearse earlier tasks in a loop as LeRobot's: batches are dicts with LeRobot's key names.

    python examples/04_replay_lerobot_style.py

A LeRobotDataset needs no mapping of names; its actions are read from its table, without decoding
video. What the action numbers do is not in its files: pass `layout=`. The second task is cut off
in the middle, on purpose, and resumed from its checkpoint.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from phaser import Replay
from phaser.testing import toy

STEPS, CUT_AT = 120, 60


class Interrupted(Exception):
    """A training run that ends too early."""


def preprocess(batch: dict[str, Any]) -> dict[str, Any]:
    """LeRobot's processors normalise, tokenise and move to the device: after the mixing."""
    return {**batch, "observation.state": batch["observation.state"].clamp(-2, 2)}


def train(folder: Path, *, cut_at: int | None = None) -> None:
    replay = Replay(folder / "memory", method="phaser", budget=60, layout="metaworld")
    policy = toy.ToyPolicy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    progress, weights = folder / "progress.json", folder / "weights.pt"
    saved = json.loads(progress.read_text()) if progress.exists() else {}
    if saved:
        checkpoint = torch.load(weights, weights_only=True)
        policy.load_state_dict(checkpoint["policy"])
        optimizer.load_state_dict(checkpoint["optimizer"])
    for name in ("left", "right"):
        if name in replay.stored:
            print(f"{name}: stored already")
            continue
        dataset = toy.ToyDemos(name)
        with replay.task(dataset, instruction=dataset.instruction, name=name) as task:
            if saved.get("task") == name:
                task.load_state_dict(saved)
            for batch in toy.loader(dataset, num_steps=STEPS - task.step, seed=task.step):
                loss, _ = forward(policy, preprocess(task.mix(batch)))
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                if task.num_stored and task.step == cut_at:
                    parts = {"policy": policy.state_dict(), "optimizer": optimizer.state_dict()}
                    torch.save(parts, weights)
                    progress.write_text(json.dumps(task.state_dict()))
                    raise Interrupted
        print(f"{name}: {task.step} steps, {task.num_stored} frames of earlier tasks to rehearse")
    for name in ("left", "right"):
        print(f"{name}: error {toy.error(policy, toy.ToyDemos(name)):.3f} at the end")


def forward(policy: toy.ToyPolicy, batch: dict[str, Any]) -> tuple[torch.Tensor, dict[str, Any]]:
    """As LeRobot's policies answer: the loss, and what else there is to say."""
    return policy(batch).loss, {}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        try:
            train(Path(name), cut_at=CUT_AT)
        except Interrupted:
            print(f"cut off after {CUT_AT} steps of the second task, then resumed:")
        train(Path(name))
