"""Something is learnt, then forgotten without a memory and retained with one, in seconds."""

from pathlib import Path

import torch
from made_samples import replay_in

from phaser.testing import toy


def errors_after_both_tasks(folder: Path, method: str) -> list[float]:
    policy = toy.ToyPolicy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    replay = replay_in(folder, method=method, budget=60)
    for instruction, demos in toy.tasks():
        with replay.task(demos, instruction=instruction) as task:
            for batch in toy.loader(demos):
                policy(task.mix(batch)).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    return [toy.error(policy, demos) for _, demos in toy.tasks()]


def test_replay_retains_what_is_forgotten_without_it(tmp_path: Path) -> None:
    forgotten, learnt = errors_after_both_tasks(tmp_path / "sequential", "sequential")
    retained, learnt_too = errors_after_both_tasks(tmp_path / "phaser", "phaser")
    assert max(learnt, learnt_too) < 0.06
    assert forgotten > 0.14
    assert retained < forgotten / 1.7


def test_routing_rehearses_most_what_the_new_task_overwrites(tmp_path: Path) -> None:
    """Both tasks reach and grasp alike; only where the cup is carried differs."""
    replay = replay_in(tmp_path, budget=60)
    (first, left), (second, right) = toy.tasks()
    with replay.task(left, instruction=first):
        pass
    weights = replay.task(right, instruction=second).weights()
    assert max(weights, key=weights.__getitem__).label == "transport"
    assert abs(sum(weights.values()) - 1) < 1e-9
