"""The tiny policy: small, seeded, conditioned on sight and words, alike in training and acting."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from phaser.core.demonstration import ActionLayout, Demo
from phaser.core.errors import BadInput
from phaser.core.policy import Observation
from phaser.core.streams import Streams
from phaser.policies.tiny.settings import Tiny
from phaser.suites.metaworld.suite import MetaWorld
from phaser.training.frames import FrameTable, TaskFrames

CONTRACT = replace(MetaWorld(task_list=("reach",)).contract, image_size=(48, 48))
CAMERAS = ("corner", "gripper")
STREAM = Streams(0).named("weights")
VARIANTS = [Tiny(), Tiny(head="flow"), Tiny(train_encoder=True)]


def images(seed, count=3):
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, 256, (count, 48, 48, 3), dtype=np.uint8) for name in CAMERAS}


def observations(seen, instruction="open the drawer"):
    count = len(seen["corner"])
    return [
        Observation(
            images={name: rows[k] for name, rows in seen.items()},
            state=np.array([0.1 * k, 0.6, 0.2, 1.0], np.float32),
            instruction=instruction,
        )
        for k in range(count)
    ]


def acted(policy, seen, instruction="open the drawer", seed=0):
    streams = [Streams(seed).named("act", k) for k in range(len(seen["corner"]))]
    return policy.act(observations(seen, instruction), streams)


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_it_has_about_a_fifth_of_a_million_weights(settings):
    policy = settings.build(CONTRACT, STREAM)
    count = sum(weight.numel() for weight in policy.parameters())
    assert 100_000 < count < 400_000
    # Frozen encoders are no part of a checkpoint.
    assert sum(weight.numel() for weight in policy.trained_state().values()) == count


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_an_action_does_not_depend_on_the_others_in_the_batch_to_the_bit(settings):
    policy = settings.build(CONTRACT, STREAM)
    seen = images(3, count=9)
    streams = [Streams(0).named("act", k) for k in range(9)]
    together = policy.act(observations(seen), streams)
    for k, (one, stream) in enumerate(zip(observations(seen), streams, strict=True)):
        np.testing.assert_array_equal(policy.act([one], [stream])[0], together[k])


def test_building_neither_reads_nor_disturbs_torch_randomness():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one = Tiny().build(CONTRACT, STREAM).state_dict()
    assert torch.equal(torch.rand(3), expected)
    two = Tiny().build(CONTRACT, STREAM).state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_actions_depend_on_sight_and_on_words(settings):
    policy = settings.build(CONTRACT, STREAM)
    base = acted(policy, images(0))
    assert not np.allclose(base, acted(policy, images(1)), atol=1e-4)
    assert not np.allclose(base, acted(policy, images(0), "close the window"), atol=1e-4)


def test_only_the_flow_head_depends_on_noise():
    for head, varies in (("regression", False), ("flow", True)):
        policy = Tiny(head=head).build(CONTRACT, STREAM)
        same = np.array_equal(acted(policy, images(0)), acted(policy, images(0), seed=1))
        assert same != varies


def batch_of(policy, seen, actions):
    """What the policy would be trained on, had it seen this and done that."""
    demo = Demo(
        task="reach",
        index=0,
        actions=actions,
        states=np.stack([one.state for one in observations(seen)]).astype(np.float64),
        layout=ActionLayout(motion=(0, 1, 2), gripper=(3,)),
    )
    frames = TaskFrames.of(
        [demo],
        policy.front_end(seen),
        instruction="open the drawer",
        chunk_length=policy.contract["chunk_length"],
    )
    return policy.batch(FrameTable({"reach": frames}).samples(frames.refs("reach")))


@pytest.mark.parametrize("train_encoder", [False, True])
def test_training_and_acting_see_the_same(train_encoder):
    """A demonstration of the policy's own actions has no loss under it."""
    policy = Tiny(train_encoder=train_encoder, chunk_length=1).build(CONTRACT, STREAM)
    seen = images(0)
    own = acted(policy, seen)[:, 0].astype(np.float64)
    losses = policy(batch_of(policy, seen, own), Streams(0).named("noise"))
    assert losses.abs().max() < 1e-4
    assert np.abs(own).mean() > 0.01


class Still:
    """A stream whose noise is zero."""

    def __call__(self):
        return self

    def standard_normal(self, size):
        return np.zeros(size)


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_outputs_are_the_actions_from_zero_noise_with_gradients(settings):
    policy, seen = settings.build(CONTRACT, STREAM), images(0)
    said = policy.outputs(batch_of(policy, seen, np.zeros((3, 4))))
    done = policy.act(observations(seen), [Still()] * 3)
    np.testing.assert_allclose(said.detach().numpy(), done, rtol=1e-4, atol=1e-5)
    said.square().sum().backward()
    assert all(weight.grad is not None for weight in policy.parameters())


def test_a_trained_encoder_is_trained_and_a_frozen_one_is_no_parameter():
    policy = Tiny(train_encoder=True).build(CONTRACT, STREAM)
    assert any(name.startswith("encoders.") for name, _ in policy.named_parameters())
    frozen = Tiny().build(CONTRACT, STREAM)
    assert not any(name.startswith("encoders.") for name, _ in frozen.named_parameters())
    assert policy.front_end.identity != frozen.front_end.identity


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_its_front_end_is_known_before_it_is_built(settings):
    policy = settings.build(CONTRACT, STREAM)
    assert settings.front_end(CONTRACT) == policy.front_end


@pytest.mark.parametrize(
    "wrong", [{"head": "discrete"}, {"chunk_length": 0}, {"channels": 0}, {"width": -1}]
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        Tiny(**wrong)


def test_fine_maps_are_read_of_the_cameras_asked_for():
    few = Tiny(fine_cameras=()).build(CONTRACT, STREAM)
    assert not [name for name in few.trunk.readers if name.endswith("_fine")]
    assert few.front_end.identity != Tiny().build(CONTRACT, STREAM).front_end.identity
    with pytest.raises(BadInput, match="fine_cameras names nowhere"):
        Tiny(fine_cameras=("nowhere",)).build(CONTRACT, STREAM)
