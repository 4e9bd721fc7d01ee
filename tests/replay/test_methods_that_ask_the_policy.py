"""Methods that do more than mix batches work in a loop of the user's own, with the user's model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from made_samples import replay_in
from torch import Tensor

from phaser import LoopPolicy
from phaser.testing import toy

NUM_STEPS = 60
METHODS = ("mir", "mir-snapshot", "mir-original", "icarl", "der", "agem", "ewc")


def loop_policy(model: toy.ToyPolicy) -> LoopPolicy:
    def losses(batch: Any) -> Tensor:
        return ((model(batch).actions - batch["action"]) ** 2).mean(1)

    def features(batch: Any) -> Tensor:
        return model(batch).actions

    def outputs(batch: Any) -> Tensor:
        return model(batch).actions

    return LoopPolicy(model, losses=losses, features=features, outputs=outputs)


def learnt(folder: Path, method: str, *, stop_after: int | None = None) -> toy.ToyPolicy:
    """Two tasks in a row; `stop_after`: the second one is taken up again from a saved state."""
    model = toy.ToyPolicy()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    policy = loop_policy(model)

    def replay() -> Any:
        return replay_in(folder, method=method, budget=60, policy=policy, steps_per_task=NUM_STEPS)

    for number, (instruction, demos) in enumerate(toy.tasks()):
        task = replay().task(demos, instruction=instruction)
        for step, batch in enumerate(toy.loader(demos, num_steps=NUM_STEPS, batch_size=8)):
            if number == 1 and step == stop_after:
                state = task.state_dict()
                task = replay().task(demos, instruction=instruction)
                task.load_state_dict(state)
            task.backward(batch)
            optimizer.step()
            optimizer.zero_grad()
        task.finish()
    return model


def error(model: toy.ToyPolicy) -> float:
    return toy.error(model, next(toy.tasks())[1])


@pytest.fixture(scope="module")
def forgotten(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The first task's error without a memory."""
    model = toy.ToyPolicy()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _, demos in toy.tasks():
        for batch in toy.loader(demos, num_steps=NUM_STEPS, batch_size=8):
            model(batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return error(model)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_that_asks_the_policy_forgets_less_than_none(
    tmp_path: Path, method: str, forgotten: float
) -> None:
    assert error(learnt(tmp_path, method)) < 0.97 * forgotten


@pytest.mark.parametrize("method", ["mir", "icarl"])
def test_a_task_that_is_taken_up_again_ends_with_the_same_weights(
    tmp_path: Path, method: str
) -> None:
    whole = learnt(tmp_path / "whole", method).state_dict()
    resumed = learnt(tmp_path / "resumed", method, stop_after=NUM_STEPS // 2).state_dict()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
