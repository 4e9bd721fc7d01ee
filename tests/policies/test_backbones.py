"""The three backbones as policies: samples do not touch one another, numbers are repeatable."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from robot_samples import (
    BACKBONES,
    CONTRACT,
    NOISE,
    WEIGHTS,
    fixed,
    observations,
    require_backbones,
    rows,
    samples,
    streams,
)

from phaser.core.policy import Policy, PolicySettings
from phaser.core.streams import Streams
from phaser.policies.lora import MARK
from phaser.policies.parts.compute import Compute
from phaser.testing.policy import check_policy

require_backbones()

each_backbone = pytest.mark.parametrize("name", BACKBONES)


@pytest.fixture(scope="module")
def built():
    """One of each, for tests that leave it as it was."""
    return {name: settings.build(CONTRACT, WEIGHTS) for name, settings in BACKBONES.items()}


def gradients(policy, found):
    policy.zero_grad()
    losses = policy(policy.batch(found), NOISE)
    losses.mean().backward()
    return losses.detach(), {
        name: one.grad for name, one in policy.named_parameters() if one.requires_grad
    }


@each_backbone
def test_it_has_all_of_the_port(built, name):
    assert isinstance(built[name], Policy)
    assert isinstance(BACKBONES[name], PolicySettings)
    assert BACKBONES[name].front_end(CONTRACT) is None
    assert built[name].front_end is None


@each_backbone
def test_it_keeps_what_the_port_promises(name):
    check_policy(BACKBONES[name], CONTRACT)


@each_backbone
def test_a_sample_has_the_loss_that_it_has_alone_in_any_order_and_beside_longer_prompts(
    built, name
):
    policy, found = built[name].train(), samples(4)
    together = policy(policy.batch(found), NOISE)
    alone = torch.cat([policy(policy.batch(rows(found, [k])), NOISE) for k in range(4)])
    turned = policy(policy.batch(rows(found, [2, 0, 3, 1])), NOISE)
    torch.testing.assert_close(alone, together, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(turned, together[[2, 0, 3, 1]], rtol=1e-5, atol=1e-6)


@each_backbone
def test_a_loss_counts_the_valid_part_of_its_own_chunk(built, name):
    policy, found = built[name].eval(), samples(3)
    losses = policy(policy.batch(found), NOISE)
    beyond, within = found.actions.copy(), found.actions.copy()
    beyond[2, 3] += 0.1
    within[0, 0, 0] += 0.1
    unmoved = policy(policy.batch(replace(found, actions=beyond)), NOISE)
    moved = policy(policy.batch(replace(found, actions=within)), NOISE) - losses
    assert torch.equal(unmoved, losses)
    assert moved[0].abs() > 1e-4
    assert torch.equal(moved[1:], torch.zeros(2))


@each_backbone
def test_losses_and_actions_repeat_and_only_flow_matching_depends_on_noise(built, name):
    policy, found = built[name].train(), samples(2)
    batch, other = policy.batch(found), Streams(1).named("noise")
    assert torch.equal(policy(batch, NOISE), policy(batch, NOISE))
    assert torch.equal(policy(batch, NOISE), policy(batch, other)) == (name != "qwen-gr00t")
    seen = observations(found)
    said = policy.act(seen, streams(2))
    np.testing.assert_array_equal(said, policy.act(seen, streams(2)))
    same = np.array_equal(said, policy.act(seen, streams(2, seed=1)))
    assert same == (name != "qwen-gr00t")
    assert policy.training


@each_backbone
def test_an_action_does_not_depend_on_the_others_in_the_batch(built, name):
    policy, found = built[name], samples(5)
    seen, noise = observations(found), streams(5)
    together = policy.act(seen, noise)
    assert together.shape == (5, 4, 4)
    for k in range(5):
        np.testing.assert_array_equal(policy.act(seen[k : k + 1], noise[k : k + 1])[0], together[k])
    many = replace(BACKBONES[name], compute=Compute(act_rows=3)).build(CONTRACT, WEIGHTS)
    np.testing.assert_allclose(many.act(seen, noise), together, rtol=1e-4, atol=1e-5)


@each_backbone
def test_actions_depend_on_words_on_sight_and_on_nothing_else(built, name):
    policy, found = built[name], samples(1)
    said = policy.act(observations(found), streams(1))
    spoken = replace(found, instructions=("close the window",))
    seen = replace(found, images={**found.images, "wrist": found.images["wrist"][:, ::-1]})
    for other in (spoken, seen):
        assert not np.allclose(policy.act(observations(other), streams(1)), said, atol=1e-5)


@each_backbone
def test_every_trained_weight_gets_a_gradient_and_no_other_weight_does(built, name):
    policy = built[name].train()
    _, found = gradients(policy, samples(3))
    assert [name for name, one in found.items() if one is None] == []
    assert set(policy.trained_state()) == set(found)
    frozen = [one for one in policy.parameters() if not one.requires_grad]
    assert frozen
    assert all(one.grad is None for one in frozen)
    # The base is frozen: what is trained of it are adapters.
    assert all(MARK in name for name in found if name.startswith("vlm."))
    grouped = [id(one) for group in policy.parameter_groups() for one in group.parameters]
    assert sorted(grouped) == sorted(id(one) for one in policy.parameters() if one.requires_grad)


@each_backbone
def test_gradient_checkpointing_changes_no_loss_and_no_gradient(built, name):
    thrifty = replace(BACKBONES[name], compute=Compute(gradient_checkpointing=True))
    losses, found = gradients(built[name].train(), samples(2))
    again, recomputed = gradients(thrifty.build(CONTRACT, WEIGHTS).train(), samples(2))
    torch.testing.assert_close(again, losses)
    assert all(torch.allclose(recomputed[key], one, atol=1e-6) for key, one in found.items())


@each_backbone
def test_a_bfloat16_base_keeps_float32_adapters_that_learn(name):
    settings = replace(BACKBONES[name], compute=Compute(precision="bfloat16"))
    policy = settings.build(CONTRACT, WEIGHTS)
    kinds = {one.requires_grad: set() for one in policy.vlm.parameters()}
    for one in policy.vlm.parameters():
        kinds[one.requires_grad].add(one.dtype)
    assert kinds == {False: {torch.bfloat16}, True: {torch.float32}}
    losses, found = gradients(policy.train(), samples(2))
    assert losses.dtype == torch.float32
    assert losses.isfinite().all()
    assert all(one is not None and one.isfinite().all() for one in found.values())
    whole = BACKBONES[name].build(CONTRACT, WEIGHTS).train()
    torch.testing.assert_close(losses, gradients(whole, samples(2))[0], rtol=0.05, atol=0.02)


@pytest.mark.parametrize("name", ["openvla-oft", "qwen-oft"])
def test_training_and_acting_see_the_same(name):
    """A demonstration of the policy's own actions has no loss under it."""
    policy = fixed(BACKBONES[name]).build(CONTRACT, WEIGHTS)
    found = samples(3)
    own = policy.act(observations(found), streams(3))
    losses = policy(policy.batch(replace(found, actions=own)), NOISE)
    assert losses.abs().max() < 1e-5
    assert np.abs(own).mean() > 0.01


class Still:
    """A stream whose noise is zero."""

    def __call__(self):
        return self

    def standard_normal(self, size):
        return np.zeros(size)


@each_backbone
def test_outputs_are_the_actions_from_zero_noise_in_the_suites_units_with_gradients(built, name):
    policy, found = built[name].eval(), samples(3)
    policy.zero_grad()
    said = policy.outputs(policy.batch(found))
    done = policy.act(observations(found), [Still()] * 3)
    np.testing.assert_allclose(said.detach().numpy(), done, rtol=1e-4, atol=1e-5)
    said.square().sum().backward()
    assert all(one.grad is not None for one in policy.parameters() if one.requires_grad)


@each_backbone
def test_features_have_gradients_and_the_frozen_ones_outlast_training(name):
    policy = BACKBONES[name].build(CONTRACT, WEIGHTS)
    batch = policy.batch(samples(3))
    features, frozen = policy.features(batch), policy.frozen_features(batch)
    assert features.shape == frozen.shape == (3, 48)
    assert features.requires_grad
    assert not frozen.requires_grad
    with torch.no_grad():
        for one in policy.trained_state().values():
            one.add_(0.1)
    assert torch.equal(policy.frozen_features(batch), frozen)
    assert not torch.allclose(policy.features(batch), features, atol=1e-3)


@each_backbone
def test_fresh_weights_are_the_streams_and_torchs_own_numbers_are_left_alone(built, name):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    again = BACKBONES[name].build(CONTRACT, WEIGHTS).state_dict()
    assert torch.equal(torch.rand(3), expected)
    own = built[name].state_dict()
    assert own.keys() == again.keys()
    assert all(torch.equal(own[key], again[key]) for key in own)
    other = BACKBONES[name].build(CONTRACT, Streams(1).named("weights"))
    changed = {key for key, one in other.state_dict().items() if not torch.equal(own[key], one)}
    assert changed & set(other.trained_state())
    # What is trained and saved decides the policy: a frozen base is the same for all streams.
    assert not any(key.startswith("vlm.") and MARK not in key for key in changed)


@each_backbone
def test_without_lora_all_of_the_base_that_matters_is_trained(name):
    policy = replace(BACKBONES[name], lora=None).build(CONTRACT, WEIGHTS).train()
    _, found = gradients(policy, samples(2))
    assert [key for key, one in found.items() if one is None] == []
    assert any(key.startswith("vlm.") for key in found)
    assert not any(MARK in key for key in found)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("openvla-oft", {"film": True}),
        ("openvla-oft", {"use_state": False}),
        ("openvla-oft", {"num_cameras": 1}),
        ("qwen-gr00t", {"use_state": True}),
        ("qwen-gr00t", {"interleaved": False}),
        ("qwen-oft", {"num_cameras": 1}),
    ],
    ids=str,
)
def test_every_variant_trains_all_that_it_has(name, change):
    policy = replace(BACKBONES[name], **change).build(CONTRACT, WEIGHTS).train()
    losses, found = gradients(policy, samples(3))
    assert losses.isfinite().all()
    assert [key for key, one in found.items() if one is None] == []


def test_film_reads_no_padding():
    """The mean word of a short instruction is the same beside a longer one."""
    policy = replace(BACKBONES["openvla-oft"], film=True).build(CONTRACT, WEIGHTS).eval()
    with torch.no_grad():
        for one in policy.film.parameters():
            one.mul_(20)
    found = samples(4)
    together = policy(policy.batch(found), NOISE)
    alone = torch.cat([policy(policy.batch(rows(found, [k])), NOISE) for k in range(4)])
    torch.testing.assert_close(alone, together, rtol=1e-5, atol=1e-6)


def test_the_learning_rates_scales_reach_adapters_and_head():
    settings = replace(
        BACKBONES["qwen-oft"], base_learning_rate_scale=0.4, head_learning_rate_scale=4.0
    )
    groups = settings.build(CONTRACT, WEIGHTS).parameter_groups()
    assert [group.learning_rate_scale for group in groups] == [0.4, 4.0]


def test_openvla_augments_in_training_by_a_rows_place():
    policy, found = BACKBONES["openvla-oft"].build(CONTRACT, WEIGHTS), samples(4)
    augment = Streams(0).named("augment")
    plain = policy.batch(found).tensors["pixels"]
    whole = policy.batch(found, augment=augment).tensors["pixels"]
    assert not torch.equal(whole, plain)
    assert torch.equal(whole, policy.batch(found, augment=augment).tensors["pixels"])
    part = policy.batch(rows(found, [3, 1]), augment=augment).tensors["pixels"]
    assert torch.equal(part, whole[[3, 1]])
    # Two rows with the same image are changed in two ways.
    twice = policy.batch(replace(rows(found, [0, 0]), places=np.array([0, 1])), augment=augment)
    assert not torch.equal(twice.tensors["pixels"][0], twice.tensors["pixels"][1])


@each_backbone
def test_a_copy_is_a_policy_of_its_own(built, name):
    """A teacher is a copy that later training must not reach."""
    policy, seen = BACKBONES[name].build(CONTRACT, WEIGHTS), observations(samples(1))
    teacher = copy.deepcopy(policy)
    before = teacher.act(seen, streams(1))
    np.testing.assert_array_equal(before, policy.act(seen, streams(1)))
    with torch.no_grad():
        for one in policy.trained_state().values():
            one.add_(0.1)
    np.testing.assert_array_equal(teacher.act(seen, streams(1)), before)
    assert not np.array_equal(policy.act(seen, streams(1)), before)
