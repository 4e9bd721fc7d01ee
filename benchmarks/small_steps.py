"""Time a training step of each small backbone on this machine, with LoRA and whole.

    python -m benchmarks.small_steps

Rows are made up, so nothing has to be recorded. Processor time, one thread, median of the steps.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import torch

from phaser.core.contract import Contract
from phaser.core.samples import Samples
from phaser.core.streams import Streams
from phaser.experiments.backbone_presets import BASES, small
from phaser.experiments.run import Run
from phaser.suites.metaworld.tasks import INSTRUCTIONS

NUM_STEPS = 5


def made_up(contract: Contract, rows: int, chunk_length: int) -> Samples:
    """Rows of noise in the form of the suite's observations."""
    rng = np.random.default_rng(0)
    instructions = list(INSTRUCTIONS.values())
    height, width = contract.image_size
    shape = (rows, height, width, 3)
    return Samples(
        images={name: rng.integers(0, 256, shape, dtype=np.uint8) for name in contract.cameras},
        states=rng.uniform(-0.1, 0.1, (rows, len(contract.state))).astype(np.float32),
        instructions=tuple(instructions[k % len(instructions)] for k in range(rows)),
        actions=rng.uniform(-1, 1, (rows, chunk_length, len(contract.action))).astype(np.float32),
        valid=np.ones((rows, chunk_length), bool),
    )


def describe(run: Run, rows: int) -> str:
    """Weights, trained weights, and the milliseconds of building a batch and of a step."""
    policy = run.policy.build(run.suite.contract, Streams(0).named("weights"))
    optimizer = run.fit.optimizer(policy)
    samples = made_up(run.suite.contract, rows, policy.chunk_length)
    building, stepping = [], []
    for step in range(NUM_STEPS):
        begun = time.process_time()
        batch = policy.batch(samples)
        built = time.process_time()
        policy(batch, Streams(0).named("noise", str(step))).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        building.append(built - begun)
        stepping.append(time.process_time() - built)
    total = sum(weight.numel() for weight in policy.parameters())
    trained = sum(weight.numel() for weight in policy.trained_state().values())
    times = (1000 * float(np.median(one)) for one in (building, stepping))
    return f"{total / 1e6:.2f} M | {trained / 1e6:.2f} M | " + " | ".join(f"{t:.0f}" for t in times)


def main() -> None:
    torch.set_num_threads(1)
    print("| backbone | trained | batch | weights | trained | inputs (ms) | step (ms) |")
    print("|---|---|---|---|---|---|---|")
    for backbone in BASES:
        run = small(backbone)
        for how, policy in (("LoRA", run.policy), ("whole", replace(run.policy, lora=None))):  # type: ignore[type-var]
            for rows in (16, 32):
                told = describe(replace(run, policy=policy), rows)
                print(f"| {backbone} | {how} | {rows} | {told} |", flush=True)


if __name__ == "__main__":
    main()
