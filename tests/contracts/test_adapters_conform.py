"""The shipped policy and suite keep the promises of their ports, and faults are found out."""

import numpy as np
import pytest
import torch

from phaser.policies.tiny import Tiny, TinyPolicy
from phaser.suites.metaworld.recording import MetaWorldRecording
from phaser.suites.metaworld.suite import MetaWorld
from phaser.testing.policy import check_policy
from phaser.testing.suite import check_suite
from phaser.testing.verdict import NotConforming

CONTRACT = {**MetaWorld(task_list=("reach",)).contract, "image_size": [48, 48]}
SMALL = {"width": 16, "channels": 4, "chunk_length": 3}


@pytest.mark.parametrize("train_encoder", [False, True])
@pytest.mark.parametrize("head", ["regression", "flow"])
def test_the_tiny_policy_conforms(head, train_encoder):
    settings = Tiny(head=head, train_encoder=train_encoder, **SMALL)
    check_policy(lambda stream: settings.build(CONTRACT, stream))


class MeanLoss(TinyPolicy):
    def forward(self, batch, noise):
        return super().forward(batch, noise).mean()


class BatchLoss(TinyPolicy):
    def forward(self, batch, noise):
        losses = super().forward(batch, noise)
        return losses * 0 + losses.mean()


class Unmasked(TinyPolicy):
    def forward(self, batch, noise):
        features = self._features(batch.inputs, batch.states, batch.language)
        return (self.head.out(features) - batch.actions.flatten(1)).abs().mean(1)


class Forgetful(TinyPolicy):
    """Holds something it acts by outside of its state_dict."""

    def __init__(self, settings, contract):
        super().__init__(settings, contract)
        self.offset = torch.rand(1).item()

    def act(self, observations, streams):
        return super().act(observations, streams) + self.offset


class Restless(TinyPolicy):
    def act(self, observations, streams):
        return super().act(observations, streams) + np.random.default_rng().normal()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (MeanLoss, r"losses of shape \(\) for 12 samples"),
        (BatchLoss, "depends on another sample's actions"),
        (Unmasked, "beyond the end"),
        (Restless, "gave other actions"),
        (Forgetful, "after its weights went through a file"),
    ],
)
def test_a_broken_policy_is_found_out(policy, message):
    def make(stream):
        torch.manual_seed(stream.integer())
        return policy(Tiny(train_encoder=True, **SMALL), CONTRACT)

    with pytest.raises(NotConforming, match=message):
        check_policy(make)


@pytest.fixture(scope="module")
def metaworld(tmp_path_factory):
    recording = MetaWorldRecording(num_train=2, num_heldout=1, max_steps=80)
    cache = tmp_path_factory.mktemp("contract-cache")
    return MetaWorld(task_list=("reach",), recording=recording, cache=cache)


def test_metaworld_conforms(metaworld):
    check_suite(metaworld)


class Wrapped:
    """Meta-World with one fault."""

    def __init__(self, suite, fault):
        self.suite, self.fault = suite, fault
        self.tasks, self.demos, self.horizon = suite.tasks, suite.demos, suite.horizon
        if fault == "names":
            self.tasks = lambda: suite.tasks() * 2

    def make_env(self, task):
        env = self.suite.make_env(task)
        reset = env.reset
        if self.fault == "seedless":
            env.reset = lambda seed: reset(5000)
        if self.fault == "restless":
            count = iter(range(100))
            env.reset = lambda seed: reset(seed + next(count))
        return env


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("names", "expected distinct"),
        ("seedless", "same initial state"),
        ("restless", "two different episodes"),
    ],
)
def test_a_broken_suite_is_found_out(metaworld, fault, message):
    with pytest.raises(NotConforming, match=message):
        check_suite(Wrapped(metaworld, fault))
