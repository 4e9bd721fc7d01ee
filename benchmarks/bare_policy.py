"""A torch module with those parts of the policy's port that no benchmark uses."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from phaser.core.policy import ParameterGroup
from phaser.core.samples import Samples
from phaser.methods.penalty import trained_weights
from phaser.policies.tiny.policy import TinyBatch


class BarePolicy(nn.Module):
    """Whoever inherits from it writes `forward`, `features`, `outputs` and `words`."""

    contract: Mapping[str, Any] = MappingProxyType({"chunk_length": 8, "policy": "benchmark"})
    front_end = None
    offers = frozenset({"features", "outputs"})

    def batch(self, samples: Samples, *, augment: object = None) -> TinyBatch:
        return TinyBatch(
            inputs={name: torch.from_numpy(rows) for name, rows in samples.images.items()},
            states=torch.from_numpy(samples.states),
            language=torch.stack([self.words(text) for text in samples.instructions]),
            actions=torch.from_numpy(samples.actions),
            valid=torch.from_numpy(samples.valid),
            places=samples.places,
            num_places=samples.num_places,
        )

    def words(self, instruction: str) -> Tensor:
        raise NotImplementedError

    def act(self, observations: Sequence[object], streams: Sequence[object]) -> Any:
        raise NotImplementedError

    def trained_state(self) -> dict[str, Tensor]:
        return trained_weights(self)

    def load_trained_state(self, weights: Mapping[str, Tensor]) -> None:
        self.load_state_dict({**self.state_dict(), **weights})

    def parameter_groups(self) -> list[ParameterGroup]:
        return [ParameterGroup(parameters=list(trained_weights(self).values()))]
