"""The shipped policy and suite keep the promises of their ports, and faults are found out."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from phaser.core.policy import ParameterGroup
from phaser.policies.tiny.policy import TinyPolicy
from phaser.policies.tiny.settings import Tiny
from phaser.suites.metaworld.recording import MetaWorldRecording
from phaser.suites.metaworld.suite import MetaWorld
from phaser.testing.policy import check_policy
from phaser.testing.suite import check_suite
from phaser.testing.verdict import NotConforming

CONTRACT = replace(MetaWorld(task_list=("reach",)).contract, image_size=(48, 48))
SMALL = {"width": 16, "channels": 4, "chunk_length": 3}


@pytest.mark.parametrize("train_encoder", [False, True])
@pytest.mark.parametrize("head", ["regression", "flow"])
def test_the_tiny_policy_conforms(head, train_encoder):
    check_policy(Tiny(head=head, train_encoder=train_encoder, **SMALL), CONTRACT)


class MeanLoss(TinyPolicy):
    def forward(self, batch, noise):
        return super().forward(batch, noise).mean()


class BatchLoss(TinyPolicy):
    def forward(self, batch, noise):
        losses = super().forward(batch, noise)
        return losses * 0 + losses.mean()


class Unmasked(TinyPolicy):
    def forward(self, batch, noise):
        return (self.head.out(self.features(batch)) - batch.actions.flatten(1)).abs().mean(1)


class Forgetful(TinyPolicy):
    """Holds something it acts by outside of its trained state."""

    def __init__(self, settings, contract):
        super().__init__(settings, contract)
        self.offset = torch.rand(1).item()

    def act(self, observations, streams):
        return super().act(observations, streams) + self.offset


class Restless(TinyPolicy):
    def act(self, observations, streams):
        return super().act(observations, streams) + np.random.default_rng().normal()


class Hidden(TinyPolicy):
    """Has more than it says."""

    offers = frozenset({"outputs"})


class Partial(TinyPolicy):
    """Trains all of its weights but one."""

    def parameter_groups(self):
        return [ParameterGroup(parameters=list(self.parameters())[1:])]


class Unlike(TinyPolicy):
    """Was trained under another contract than it was built for."""

    def __init__(self, settings, contract):
        super().__init__(settings, replace(contract, orientation="rotated"))


@dataclass(frozen=True)
class Broken:
    """Settings that build one of the policies above."""

    kind: type

    def front_end(self, contract):
        return self._settings.front_end(contract)

    def build(self, contract, stream):
        torch.manual_seed(stream.integer())
        return self.kind(self._settings, contract)

    @property
    def _settings(self):
        return Tiny(train_encoder=True, **SMALL)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (MeanLoss, r"losses of shape \(\) for 6 samples"),
        (BatchLoss, "in a batch and .* alone"),
        (Unmasked, "beyond the end"),
        (Restless, "gave other actions"),
        (Forgetful, "after its weights went through a file"),
        (Hidden, r"features\(\) works, but is not among what the policy offers"),
        (Partial, "leaves out weights that require a gradient"),
        (Unlike, "differs from the suite's"),
    ],
)
def test_a_broken_policy_is_found_out(policy, message):
    with pytest.raises(NotConforming, match=message):
        check_policy(Broken(policy), CONTRACT)


@pytest.fixture(scope="module")
def metaworld(tmp_path_factory):
    recording = MetaWorldRecording(num_train=2, num_heldout=1, max_steps=80)
    cache = tmp_path_factory.mktemp("contract-cache")
    return MetaWorld(task_list=("reach",), recording=recording, cache=cache)


def replaced(kind, suite):
    """The same suite, of another class; its recordings are those that are there."""
    return kind(task_list=suite.task_list, recording=suite.recording, cache=suite.cache)


def test_metaworld_conforms(metaworld):
    check_suite(metaworld)


class Shown(MetaWorld):
    """The demonstrations of Meta-World without its simulator."""

    has_simulator = False

    def evaluation_seeds(self, count):
        return ()


def test_a_suite_of_demonstrations_alone_conforms(metaworld):
    check_suite(replaced(Shown, metaworld))


class Wrapped(MetaWorld):
    """Meta-World with one fault."""

    fault = ""

    def tasks(self):
        return super().tasks() * (2 if self.fault == "names" else 1)

    def make_env(self, task):
        env = super().make_env(task)
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
    faulty = type("Wrapped", (Wrapped,), {"fault": fault})
    with pytest.raises(NotConforming, match=message):
        check_suite(replaced(faulty, metaworld))
