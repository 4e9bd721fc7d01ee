"""What a cell spends its time on, and what each choice bought, as ratios within one run."""

import resource
import subprocess
import sys

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.timing import best_cpu_ms, print_ratios
from phaser.core.streams import Streams
from phaser.experiments.allocator import keep_freed_memory
from phaser.policies.tiny.policy import TinyBatch, TinyPolicy
from phaser.policies.tiny.settings import Tiny
from phaser.suites.metaworld import rendering
from phaser.suites.metaworld.env import MetaWorldEnv
from phaser.suites.metaworld.suite import MetaWorld

BATCH_SIZE = 64


class BroadcastReader(nn.Module):
    """The obvious way: FiLM by broadcasting over the map, spatial softmax left to autograd."""

    def __init__(self, depth: int, channels: int) -> None:
        super().__init__()
        self.project = nn.Linear(depth, channels)

    def forward(self, maps: Tensor, film: tuple[Tensor, Tensor]) -> Tensor:
        scale, shift = film
        height, width = maps.shape[2:]
        active = self.project(maps.flatten(2).transpose(1, 2))
        active = F.relu(active * (1 + scale[:, None]) + shift[:, None])
        attention = torch.softmax(active, dim=1)
        across = torch.linspace(-1, 1, width).repeat(height)
        down = torch.linspace(-1, 1, height).repeat_interleave(width)
        where = torch.matmul(torch.stack([across, down]), attention)
        return torch.cat([where.flatten(1), (attention * active).sum(1)], dim=1)


def main() -> None:
    torch.set_num_threads(1)
    suite = MetaWorld(task_list=("hammer",))
    ours, obvious = _policy(suite, broadcast=False), _policy(suite, broadcast=True)
    batch = _batch(ours)
    steps = {
        "FiLM by broadcasting, autograd": obvious,
        "FiLM in the weights, one-pass gradient": ours,
    }
    times = best_cpu_ms({name: _step(policy, batch) for name, policy in steps.items()})
    print_ratios("Training step of the tiny policy, batch of 64", times, baseline=next(iter(steps)))
    for kept in ("no", "yes"):
        done = subprocess.run([sys.executable, "-m", "benchmarks.cell", kept], check=True)
        assert done.returncode == 0
    _drawing(suite)


def allocator(*, kept: bool) -> None:
    """Page faults and mean time per step; its own process, because the setting is for good."""
    torch.set_num_threads(1)
    if kept:
        keep_freed_memory()
    policy = _policy(MetaWorld(task_list=("hammer",)), broadcast=False)
    step = _step(policy, _batch(policy))
    for _ in range(10):
        step()
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(200):
        step()
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"  freed memory kept: {'yes' if kept else 'no ':3}  "
        f"{(after.ru_minflt - before.ru_minflt) / 200:6.0f} page faults and "
        f"{seconds / 200 * 1e3:6.2f} ms per step"
    )


def _drawing(suite: MetaWorld) -> None:
    task = suite.tasks()[0]
    fast = MetaWorldEnv(task)
    fast.reset(suite.evaluation_seeds(1)[0])
    simplify, rendering.simplify = rendering.simplify, lambda model: None
    try:
        full = MetaWorldEnv(task)
        full.reset(suite.evaluation_seeds(1)[0])
    finally:
        rendering.simplify = simplify
    still = np.zeros(4)
    works = {
        "two cameras, MuJoCo's defaults": full.observe,
        "two cameras, as we draw them": fast.observe,
        "one step of physics and reward": lambda: fast.step(still),
        "reset": lambda: fast.place(suite.evaluation_seeds(1)[0]),
    }
    times = best_cpu_ms(works, repetitions=20)
    print_ratios("Simulator, task hammer", times, baseline="two cameras, MuJoCo's defaults")
    fast.close()
    full.close()


def _policy(suite: MetaWorld, *, broadcast: bool) -> TinyPolicy:
    policy = Tiny().build(suite.contract, Streams(0).named("weights"))
    if broadcast:
        for name, reader in policy.trunk.readers.items():
            channels, depth = reader.weight.shape
            policy.trunk.readers[name] = BroadcastReader(depth, channels)
    return policy


def _batch(policy: TinyPolicy) -> TinyBatch:
    sizes = {"fine": (40, 12, 12), "coarse": (112, 6, 6)}
    return TinyBatch(
        inputs={
            name: torch.randn(BATCH_SIZE, *sizes[name.rsplit("_", 1)[1]]).half()
            for name in policy.trunk.readers
        },
        states=torch.randn(BATCH_SIZE, 4),
        language=torch.randn(BATCH_SIZE, 384),
        actions=torch.randn(BATCH_SIZE, 8, 4),
        valid=torch.ones(BATCH_SIZE, 8, dtype=torch.bool),
        places=None,
        num_places=None,
    )


def _step(policy: TinyPolicy, batch: TinyBatch):
    optimizer = torch.optim.AdamW(policy.parameters(), fused=True)
    noise = Streams(0).named("noise")

    def step() -> None:
        policy(batch, noise).mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


if __name__ == "__main__":
    allocator(kept=sys.argv[1] == "yes")
