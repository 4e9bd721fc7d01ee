"""The policy port: everything that training, rules, checkpoints and rollouts use of a policy.

A policy is a torch module with the methods below. Nothing else of it is used anywhere, and
`phaser.testing.policy.check_policy` checks all of it. This file needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float, Shaped, UInt8

from phaser.core.contract import Contract
from phaser.core.errors import BadInput
from phaser.core.samples import Samples
from phaser.core.streams import Stream

Tensor: TypeAlias = Any
"""A torch tensor."""
Batch: TypeAlias = Any
"""What a policy's `batch` made; only that policy looks inside."""
Pixels = Mapping[str, UInt8[np.ndarray, "count height width 3"]]
"""Images by camera."""


class NotOffered(BadInput):
    """A policy was asked for something that it does not have, such as features."""

    def __init__(self, policy: object, name: str, *, rule: str = "this method") -> None:
        super().__init__(
            f"{rule} needs {name}(batch) of the policy, which {type(policy).__name__} does not "
            "offer; give the policy that method, or choose another method (phaser methods)"
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Observation:
    """What a policy sees at one moment."""

    images: dict[str, UInt8[np.ndarray, "height width 3"]]
    """By camera the RGB pixels, standing as the suite's contract says."""
    state: Float[np.ndarray, "state"]
    """The robot's state, in the suite's own units."""
    instruction: str
    """What the policy is asked to do."""


@runtime_checkable
class FrontEnd(Protocol):
    """The part of a policy's sight that is never trained: computed once per recording, cached."""

    @property
    def identity(self) -> str:
        """Names what it computes, weights included; results are cached under it."""
        ...

    def __call__(self, images: Pixels) -> dict[str, Shaped[np.ndarray, "count ..."]]:
        """Named arrays with one row per image; a row must not depend on the other rows."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ParameterGroup:
    """Weights that are trained alike."""

    parameters: Sequence[Any]
    learning_rate_scale: float = 1.0
    """Multiplies the learning rate of the fit."""
    weight_decay: float | None = None
    """None: that of the fit."""
    betas: tuple[float, float] = (0.9, 0.999)
    """How slowly AdamW's two moments change."""


@runtime_checkable
class Actor(Protocol):
    """A policy as rollouts use it."""

    def act(
        self, observations: Sequence[Observation], streams: Sequence[Stream]
    ) -> Float[np.ndarray, "count chunk action"]:
        """A chunk of actions for each observation, in the suite's own units.

        Args:
            observations: what the policy sees in several episodes; the answer to one must not
                depend on the others.
            streams: for each observation the source of its episode's noise.
        """
        ...


@runtime_checkable
class TrainablePolicy(Protocol):
    """A policy as the rules of a method use it: in a run, or a model in a loop of the user's own
    (`LoopPolicy`), whose samples are the user's own too."""

    def batch(self, samples: Any, *, augment: Stream | None = None) -> Batch:
        """The one input builder, for training and acting: on the policy's device, ready for a pass.

        Args:
            samples: frames as they were recorded; without actions when the policy is to act.
            augment: the source of random changes, given in training only; a policy that does not
                augment ignores it.
        """
        ...

    def __call__(self, batch: Batch, noise: Stream) -> Float[Tensor, "rows"]:
        """One loss per sample, with gradients.

        Args:
            batch: what `batch` made.
            noise: the source of every random number of a stochastic loss; a row takes those of
                its place in the batch of all processes (`samples.places`).
        """
        ...

    @property
    def offers(self) -> frozenset[str]:
        """The optional methods that this policy really has: of "features" and "outputs"."""
        ...

    def features(self, batch: Batch) -> Float[Tensor, "rows width"]:
        """What the head reads of each sample, with gradients; raises NotOffered if it has none."""
        ...

    def outputs(self, batch: Batch) -> Float[Tensor, "rows chunk action"]:
        """The chunk for each sample in the units of `samples.actions`, without noise and with
        gradients; raises NotOffered if it has none."""
        ...

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """As torch's; those with `requires_grad` are trained."""
        ...

    def modules(self) -> Iterable[Any]:
        """As torch's."""
        ...

    def train(self, mode: bool = True) -> object:
        """As torch's."""
        ...

    def eval(self) -> object:
        """As torch's."""
        ...


@runtime_checkable
class Policy(Actor, TrainablePolicy, Protocol):
    """A policy that learns from frames and answers with chunks of actions; a torch module."""

    @property
    def contract(self) -> Mapping[str, Any]:
        """The suite's contract as JSON, with `chunk_length`, `policy` and, where the policy
        normalises by them, statistics; saved with the weights and compared when they are loaded."""
        ...

    @property
    def front_end(self) -> FrontEnd | None:
        """The frozen part of its sight; None for a policy that reads pixels."""
        ...

    def batch(self, samples: Samples, *, augment: Stream | None = None) -> Batch:
        """The one input builder, for training and acting: on the policy's device, ready for a pass.

        Args:
            samples: frames as they were recorded; without actions when the policy is to act.
            augment: the source of random changes, given in training only; a policy that does not
                augment ignores it.
        """
        ...

    def trained_state(self) -> dict[str, Tensor]:
        """All that training changes (adapters and head, never a frozen base), by name."""
        ...

    def load_trained_state(self, weights: Mapping[str, Tensor]) -> None:
        """Put those weights back; any missing or unknown name is an error."""
        ...

    def parameter_groups(self) -> Sequence[ParameterGroup]:
        """What the optimiser trains."""
        ...


@runtime_checkable
class PolicySettings(Protocol):
    """The settings of a policy: a frozen dataclass that builds it."""

    def build(self, contract: Contract, stream: Stream) -> Policy:
        """A fresh policy.

        Args:
            contract: what it will see and command.
            stream: decides all fresh weights.
        """
        ...

    def front_end(self, contract: Contract) -> FrontEnd | None:
        """What `build(…).front_end` would be, without building the policy."""
        ...
