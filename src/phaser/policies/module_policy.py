"""A base for policies of your own: a torch module with the parts of the port that are mostly alike.

    class MyPolicy(ModulePolicy):
        def __init__(self, settings, contract):
            super().__init__(contract, name="my-policy", chunk_length=8)
        def batch(self, samples, *, augment=None): …
        def forward(self, batch, noise): …           # one loss per sample
        def act(self, observations, streams): …

Override the rest where a policy has more: a front end, features, outputs, frozen weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from phaser.core.contract import Contract
from phaser.core.errors import BrokenFile
from phaser.core.policy import Batch, FrontEnd, NotOffered, Observation, ParameterGroup
from phaser.core.samples import Samples


class ModulePolicy(nn.Module):
    """A policy that trains all weights that require a gradient, with one learning rate.

    Args:
        contract: what the policy sees and commands.
        name: the policy's name, saved with its weights.
        chunk_length: how many actions it answers at once.
    """

    def __init__(self, contract: Contract, *, name: str, chunk_length: int) -> None:
        super().__init__()
        self.suite_contract = contract
        self.contract: dict[str, Any] = {
            **contract.to_json(),
            "chunk_length": chunk_length,
            "policy": name,
        }

    @property
    def front_end(self) -> FrontEnd | None:
        """None: the policy reads pixels."""
        return None

    @property
    def offers(self) -> frozenset[str]:
        """Neither "features" nor "outputs", unless a subclass says so."""
        return frozenset()

    def features(self, batch: Batch) -> Tensor:
        """Refuse; a policy that offers them overrides this."""
        raise NotOffered(self, "features")

    def outputs(self, batch: Batch) -> Tensor:
        """Refuse; a policy that offers them overrides this."""
        raise NotOffered(self, "outputs")

    def parameter_groups(self) -> list[ParameterGroup]:
        """One group with all weights that require a gradient."""
        return [ParameterGroup(parameters=[w for w in self.parameters() if w.requires_grad])]

    def trained_state(self) -> dict[str, Tensor]:
        """Trained weights and saved buffers; whatever is frozen is left out."""
        frozen = {name for name, weight in self.named_parameters() if not weight.requires_grad}
        return {name: value for name, value in self.state_dict().items() if name not in frozen}

    def load_trained_state(self, weights: Mapping[str, Tensor]) -> None:
        """Put the weights of `trained_state` back; other names are refused."""
        expected, found = set(self.trained_state()), set(weights)
        if expected != found:
            missing, unknown = sorted(expected - found), sorted(found - expected)
            raise BrokenFile(
                f"these are not the weights of this policy: missing {missing[:3]}, unknown "
                f"{unknown[:3]}; load what this policy saved"
            )
        self.load_state_dict(weights, strict=False)

    def seen(self, observations: Sequence[Observation]) -> Samples:
        """Observations as samples without actions, through the front end: what `batch` takes."""
        cameras = self.suite_contract.cameras
        pixels = {name: np.stack([one.images[name] for one in observations]) for name in cameras}
        return Samples.without_actions(
            pixels if self.front_end is None else self.front_end(pixels),
            states=np.stack([one.state for one in observations]).astype(np.float32),
            instructions=[one.instruction for one in observations],
        )
