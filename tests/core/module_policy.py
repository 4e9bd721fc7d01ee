"""A torch module with those parts of the policy's port that a test does not care about."""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace

import torch
from torch import nn

from phaser.core.policy import NotOffered, ParameterGroup
from phaser.methods.penalty import trained_weights


class ModulePolicy(nn.Module):
    """Whoever inherits from it writes `forward`, and what else the test is about."""

    contract = MappingProxyType({"chunk_length": 2, "policy": "made up"})
    front_end = None
    offers = frozenset()

    def batch(self, samples, *, augment=None):
        """Tensors of the samples; an instruction is a number, which stands for its embedding."""
        return SimpleNamespace(
            inputs={name: torch.from_numpy(rows) for name, rows in samples.images.items()},
            states=torch.from_numpy(samples.states),
            language=torch.tensor([[float(text)] for text in samples.instructions]),
            actions=torch.from_numpy(samples.actions),
            valid=torch.from_numpy(samples.valid),
            places=samples.places,
            num_places=samples.num_places,
        )

    def features(self, batch):
        raise NotOffered(self, "features")

    def outputs(self, batch):
        raise NotOffered(self, "outputs")

    def act(self, observations, streams):
        raise AssertionError("no test rolls this policy out")

    def trained_state(self):
        return trained_weights(self)

    def load_trained_state(self, weights):
        self.load_state_dict({**self.state_dict(), **weights})

    def parameter_groups(self):
        return [ParameterGroup(parameters=list(trained_weights(self).values()))]
