"""Adapters, head, statistics and contract in one folder: exact, complete, refused where wrong."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from robot_samples import (
    BACKBONES,
    CONTRACT,
    WEIGHTS,
    observations,
    require_backbones,
    samples,
    statistics,
    streams,
)
from safetensors import safe_open

from phaser.core.errors import BadInput, BrokenFile
from phaser.policies.lora import MARK, Lora

require_backbones()

each_backbone = pytest.mark.parametrize("name", BACKBONES)


def trained(settings):
    """A policy whose trained weights are no longer those of its stream."""
    policy = settings.build(CONTRACT, WEIGHTS)
    with torch.no_grad():
        for number, weight in enumerate(policy.trained_state().values()):
            torch.manual_seed(number)
            weight.add_(torch.randn(weight.shape) * 0.02)
    return policy


@each_backbone
def test_a_fresh_policy_takes_it_up_to_the_bit(name, tmp_path):
    policy = trained(BACKBONES[name])
    policy.save_adapter(tmp_path)
    fresh = BACKBONES[name].build(CONTRACT, WEIGHTS)
    seen = observations(samples(2))
    assert not np.array_equal(fresh.act(seen, streams(2)), policy.act(seen, streams(2)))
    fresh.load_adapter(tmp_path)
    np.testing.assert_array_equal(fresh.act(seen, streams(2)), policy.act(seen, streams(2)))


@each_backbone
def test_it_holds_what_is_trained_and_nothing_of_the_base(name, tmp_path):
    policy = trained(BACKBONES[name])
    policy.save_adapter(tmp_path)
    files = ["adapter.json", "adapter.safetensors", "head.safetensors"]
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    with safe_open(tmp_path / "adapter.safetensors", framework="pt") as content:
        assert all(MARK in key for key in content.keys())  # noqa: SIM118
    about = json.loads((tmp_path / "adapter.json").read_text())
    assert about["contract"]["action_statistics"]["q99"] == [0.9] * 4
    assert about["contract"]["prompt"] == policy.contract["prompt"]
    assert about["contract"]["lora"] == {"rank": 4, "alpha": 8}


@each_backbone
def test_merging_changes_no_action_and_leaves_no_adapter(name):
    policy = trained(BACKBONES[name])
    seen = observations(samples(2))
    before = policy.act(seen, streams(2))
    policy.merge()
    np.testing.assert_allclose(policy.act(seen, streams(2)), before, rtol=1e-4, atol=2e-5)
    assert not any(MARK in key for key in policy.state_dict())
    with pytest.raises(BadInput, match="still has adapters"):
        trained(BACKBONES[name]).export(None)


@pytest.mark.parametrize(
    ("suite", "settings", "field"),
    [
        ({"cameras": ("wrist", "front")}, {}, "cameras"),
        ({"image_size": (64, 64)}, {}, "image_size"),
        ({"orientation": "rotated"}, {}, "orientation"),
        ({"action_statistics": replace(statistics(4), q99=(0.5,) * 4)}, {}, "action_statistics"),
        ({}, {"prompt": "please {instruction}"}, "prompt"),
        ({}, {"chunk_length": 3}, "chunk_length"),
        ({}, {"num_cameras": 1}, "cameras_read"),
        ({}, {"lora": Lora(rank=4, alpha=16)}, "lora"),
    ],
    ids=lambda one: next(iter(one), "") if isinstance(one, dict) else one,
)
def test_another_contract_is_refused_by_the_name_of_what_differs(tmp_path, suite, settings, field):
    base = BACKBONES["qwen-oft"]
    base.build(CONTRACT, WEIGHTS).save_adapter(tmp_path)
    other = replace(base, **settings).build(replace(CONTRACT, **suite), WEIGHTS)
    with pytest.raises(BadInput, match=f"was trained with {field} "):
        other.load_adapter(tmp_path)


def test_other_shapes_and_other_names_are_refused():
    base = BACKBONES["qwen-oft"]
    policy = base.build(CONTRACT, WEIGHTS)
    weights = dict(policy.trained_state())
    with pytest.raises(BadInput, match=r"has shape \[4, 32\], expected \[2, 32\]"):
        replace(base, lora=Lora(rank=2)).build(CONTRACT, WEIGHTS).load_trained_state(weights)
    name = "action_model.model.fc1.bias"
    weights["new"] = weights.pop(name)
    with pytest.raises(BadInput, match=rf"1 missing \({name}\), 1 unknown \(new\)"):
        policy.load_trained_state(weights)


def test_damage_is_one_clear_line(tmp_path):
    policy = BACKBONES["qwen-oft"].build(CONTRACT, WEIGHTS)
    with pytest.raises(BadInput, match=r"has no adapter\.json"):
        policy.load_adapter(tmp_path)
    policy.save_adapter(tmp_path)
    path = tmp_path / "head.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(BrokenFile, match="SHA-256"):
        policy.load_adapter(tmp_path)
    path.unlink()
    with pytest.raises(BrokenFile, match="is gone"):
        policy.load_adapter(tmp_path)
    (tmp_path / "adapter.json").write_text('{"format": "other"}')
    with pytest.raises(BrokenFile, match="no adapter of this version"):
        policy.load_adapter(tmp_path)
