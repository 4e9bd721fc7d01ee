"""A batch of a backbone, and the checks of what it is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from phaser.core.contract import Contract
from phaser.core.errors import BadInput
from phaser.core.policy import Observation
from phaser.core.samples import Samples


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Inputs:
    """The inputs of one pass of a backbone, on its device and in its units."""

    tensors: Mapping[str, Tensor]
    """Pixels, tokens and masks, as this backbone names them."""
    states: Float[Tensor, "rows state"]
    actions: Float[Tensor, "rows chunk action"]
    """Targets; empty chunks when the policy is asked to act."""
    valid: Bool[Tensor, "rows chunk"]
    places: Int[np.ndarray, "rows"]
    """Places of the rows in the batch of all processes."""

    def __len__(self) -> int:
        return len(self.states)


def cameras_read(contract: Contract, num_cameras: int, policy: str) -> tuple[str, ...]:
    """The cameras that a backbone reads: the suite's first ones, in its order."""
    if len(contract.cameras) < num_cameras:
        raise BadInput(
            f"{policy} reads {num_cameras} cameras, the suite {contract.suite!r} has "
            f"{len(contract.cameras)} ({', '.join(contract.cameras)}); add a camera to the suite "
            "or set num_cameras"
        )
    return contract.cameras[:num_cameras]


def check_samples(
    samples: Samples, contract: Contract, *, cameras: Sequence[str], chunk_length: int
) -> None:
    """Refuse rows that are not of this contract."""
    gone = [name for name in cameras if name not in samples.images]
    if gone:
        raise BadInput(
            f"samples without camera {', '.join(gone)} (they have {', '.join(samples.images)}); "
            "expected every camera that the policy reads"
        )
    if samples.states.shape[1] != len(contract.state):
        raise BadInput(
            f"states of {samples.states.shape[1]} numbers, the suite {contract.suite!r} has "
            f"{len(contract.state)}; expected states of the suite that the policy was built for"
        )
    length, size = samples.actions.shape[1:]
    if length and (length, size) != (chunk_length, len(contract.action)):
        raise BadInput(
            f"chunks of {length} actions of {size} numbers, the policy has {chunk_length} of "
            f"{len(contract.action)}; expected samples of the suite that the policy was built for"
        )


def held_at_end(samples: Samples) -> Float[np.ndarray, "rows chunk action"]:
    """Actions in which the last valid one is held where a chunk runs past its demonstration.

    A network that reads noisy actions reads those too, though they do not count in the loss.
    """
    steps = np.where(samples.valid, np.arange(samples.valid.shape[1]), 0)
    last = np.maximum.accumulate(steps, axis=1) if steps.size else steps
    return np.take_along_axis(samples.actions, last[..., None], axis=1)


def observed(observations: Sequence[Observation], cameras: Sequence[str]) -> Samples:
    """Observations as the samples that the input builder takes."""
    gone = [name for name in cameras if any(name not in one.images for one in observations)]
    if gone:
        raise BadInput(
            f"an observation without camera {', '.join(gone)}; expected {', '.join(cameras)}"
        )
    return Samples.without_actions(
        {name: np.stack([one.images[name] for one in observations]) for name in cameras},
        states=np.stack([np.asarray(one.state, np.float32) for one in observations]),
        instructions=[one.instruction for one in observations],
    )
