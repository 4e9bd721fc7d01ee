"""Each backbone learns: from random weights, by LoRA and head alone, it overfits 16 samples."""

from dataclasses import replace

import pytest
import torch
from robot_samples import BACKBONES, CONTRACT, NOISE, WEIGHTS, fixed, require_backbones, samples

from phaser.policies.lora import Lora

require_backbones()

RECIPES = {"openvla-oft": (5e-3, 150), "qwen-gr00t": (1e-2, 120), "qwen-oft": (1e-2, 200)}
"""Highest learning rate and number of steps."""


def overfitted(settings, found, recipe):
    """The mean loss before and after training on these samples, in a loop of ten lines."""
    policy = settings.build(CONTRACT, WEIGHTS).train()
    rate, steps = recipe
    batch = policy.batch(found)
    weights = [one for group in policy.parameter_groups() for one in group.parameters]
    optimiser = torch.optim.AdamW(weights, rate, betas=(0.9, 0.95), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=steps, pct_start=0.1
    )
    start = policy(batch, NOISE).mean().item()
    for _ in range(steps):
        optimiser.zero_grad()
        policy(batch, NOISE).mean().backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        schedule.step()
    return start, policy(batch, NOISE).mean().item()


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKBONES)
def test_it_overfits_sixteen_samples(name):
    settings = replace(
        fixed(BACKBONES[name]), chunk_length=2, num_cameras=1, lora=Lora(rank=8, alpha=16)
    )
    if name == "qwen-gr00t":
        settings = replace(settings, head_dropout=0.0)
    start, end = overfitted(settings, samples(16, chunk_length=2), RECIPES[name])
    assert end < start / 20, (start, end)
