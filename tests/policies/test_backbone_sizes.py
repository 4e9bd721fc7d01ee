"""The published models on the meta device: every part has as many weights as published."""

from dataclasses import replace

import pytest
import torch
from robot_samples import CONTRACT, WEIGHTS, require_backbones

from phaser.core.demonstration import ActionLayout
from phaser.policies.lora import MARK, Lora, add_adapters
from phaser.policies.openvla_oft.settings import OpenVlaOft
from phaser.policies.parts.scaling import Scaling
from phaser.policies.qwen_gr00t.settings import QwenGr00t
from phaser.policies.qwen_oft.settings import QwenOft

require_backbones()

FIXED = Scaling(rule="fixed")


def libero(num_states):
    """A contract of LIBERO's shape: seven numbers of an action."""
    return replace(
        CONTRACT,
        state=tuple(f"s{k}" for k in range(num_states)),
        state_centre=(0.0,) * num_states,
        state_scale=(1.0,) * num_states,
        action=("x", "y", "z", "roll", "pitch", "yaw", "gripper"),
        layout=ActionLayout(motion=(0, 1, 2, 3, 4, 5), gripper=(6,)),
        state_statistics=None,
        action_statistics=None,
    )


def on_meta(settings, num_states=8):
    with torch.device("meta"):
        return settings.build(libero(num_states), WEIGHTS)


def millions(module, chosen=lambda name: True):
    count = sum(one.numel() for name, one in module.named_parameters() if chosen(name))
    return round(count / 1e6, 1)


def test_openvla_oft_has_the_published_parts():
    policy = on_meta(OpenVlaOft(scaling=FIXED, lora=None))
    assert millions(policy.vlm.language_model) == 6738.9
    assert millions(policy.vlm.vision_backbone) == 715.7
    assert millions(policy.vlm.projector) == 71.4
    assert millions(policy.action_head) == 151.1
    assert millions(policy.proprio_projector) == 16.8


def test_the_adapters_of_openvla_are_the_published_ones_that_have_a_gradient():
    policy = on_meta(OpenVlaOft(scaling=FIXED))
    found = sum(one.numel() for name, one in policy.named_parameters() if MARK in name)
    # Features come from the second-to-last block, and no patch is pooled: these adapt nothing.
    last_blocks = 32 * (16 * 1024 + 6 * 1152 + 2 * (1152 + 4304))
    pooling = 32 * (7 * 1152 + 2 * (1152 + 4304))
    assert found + last_blocks + pooling == 109_563_904


def test_adapters_of_all_blocks_can_be_counted_too():
    network = on_meta(OpenVlaOft(scaling=FIXED, lora=None)).vlm
    with torch.device("meta"):
        add_adapters(network, Lora(), unused=lambda name: name.startswith("language_model.lm_head"))
    pooling = 32 * (7 * 1152 + 2 * (1152 + 4304))
    trained = sum(one.numel() for one in network.parameters() if one.requires_grad)
    assert trained + pooling == 109_563_904


def test_film_would_train_more_weights_than_all_else():
    policy = on_meta(OpenVlaOft(scaling=FIXED, film=True))
    published = 2 * (24 * (4096 * 1024 + 1024) + 27 * (4096 * 1152 + 1152))
    last_blocks = 2 * (4096 * 1024 + 1024 + 4096 * 1152 + 1152)
    assert sum(one.numel() for one in policy.film.parameters()) == published - last_blocks


@pytest.mark.parametrize("make", [QwenGr00t, QwenOft])
def test_qwen_has_the_published_parts(make):
    policy = on_meta(make(scaling=FIXED), num_states=7)
    assert millions(policy.vlm, lambda name: MARK not in name) == 3754.6
    visual = millions(policy.vlm, lambda name: "visual" in name and MARK not in name)
    assert visual == 668.7
    assert millions(policy.vlm, lambda name: MARK in name) == 82.7
    assert millions(policy.vlm, lambda name: MARK in name and "visual" in name) == 22.9
    if make is QwenOft:
        assert millions(policy.action_model) == 42.0
    else:
        assert millions(policy.action_model) == 155.2
        assert millions(policy.action_model.model) == 150.7
    assert len({name.split(MARK)[0] for name in policy.trained_state() if MARK in name}) == 414
