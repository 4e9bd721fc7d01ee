"""Your own policy, as far as a method asks for it: for methods that do more than mix batches.

    policy = LoopPolicy(model, losses=lambda batch: model(batch).per_sample_loss)
    replay = Replay("memory/", method="mir", budget=1000, policy=policy)

Functions are given batches as your loader makes them. They are called with your model's weights, or
with other weights put in their place (an earlier policy, a virtual step), so they must use `model`
itself and no copy of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.policy import NotOffered
from phaser.core.streams import Stream

BatchFunction = Callable[[Any], Tensor]


class LoopPolicy(nn.Module):
    """A model and the functions that rules call.

    Args:
        model: the module that is trained; weights that require a gradient count as trained.
        losses: gives one loss per sample of a batch, as a tensor with gradients.
        features: gives one vector per sample, what the head reads (icarl).
        outputs: gives the actions for each sample, (batch, steps, dims) or (batch, dims) (der).
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        losses: BatchFunction,
        features: BatchFunction | None = None,
        outputs: BatchFunction | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self._losses = losses
        self._given = {"features": features, "outputs": outputs}
        self.collate: Callable[[list[Any]], Any] = list

    @property
    def offers(self) -> frozenset[str]:
        """Which of "features" and "outputs" were given."""
        return frozenset(name for name, given in self._given.items() if given is not None)

    def batch(self, samples: UserSamples, *, augment: Stream | None = None) -> Any:
        """The user's samples as the user's batch, on the model's device.

        Args:
            samples: what the memory or the dataset gave.
            augment: not used; the user's own loader augments.
        """
        return _moved(self.collate(list(samples.samples)), self.device)

    def forward(self, batch: Any, noise: Stream) -> Tensor:
        """One loss per sample.

        Args:
            batch: what `batch` made.
            noise: not used; the user's own losses draw their noise.
        """
        losses = self._losses(batch)
        if not isinstance(losses, Tensor) or losses.ndim != 1:
            shape = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
            raise BadInput(
                f"losses(batch) gave {shape}; expected a tensor with one number per sample"
            )
        return losses

    def features(self, batch: Any) -> Tensor:
        """What the given `features` answers."""
        return self._asked("features", batch)

    def outputs(self, batch: Any) -> Tensor:
        """What the given `outputs` answers, as chunks of actions."""
        found = self._asked("outputs", batch)
        return found[:, None] if found.ndim == 2 else found

    @property
    def device(self) -> torch.device:
        """Where the model's weights are."""
        return next(iter(self.model.parameters())).device

    def _asked(self, name: str, batch: Any) -> Tensor:
        ask = self._given[name]
        if ask is None:
            raise NotOffered(self, name)
        return ask(batch)


class UserSamples:
    """Rows of the user's own samples (`core.samples.Samples` in a user's loop)."""

    def __init__(self, samples: Sequence[Any]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def first(self, count: int) -> UserSamples:
        return UserSamples(self.samples[:count])

    @property
    def valid(self) -> np.ndarray:
        """False where a chunk of actions is padded, by LeRobot's name; all true where none is."""
        pads = [_pad(sample) for sample in self.samples]
        if not pads or any(pad is None for pad in pads):
            return np.ones((len(self), 1), bool)
        return ~np.stack([np.asarray(pad, bool) for pad in pads])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.samples)


class UserFrames:
    """Frames to the user's samples: those of the task from its dataset, others from the memory."""

    def __init__(self, read: Callable[[Sequence[FrameRef]], list[Any]]) -> None:
        self._read = read

    def samples(self, refs: Sequence[FrameRef]) -> UserSamples:
        return UserSamples(self._read(refs))


def _pad(sample: Any) -> Any:
    found = sample.get("action_is_pad") if isinstance(sample, dict) else None
    return found.cpu().numpy() if isinstance(found, Tensor) else found


def _moved(batch: Any, device: torch.device) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, dict):
        return {key: _moved(part, device) for key, part in batch.items()}
    if isinstance(batch, list | tuple) and not hasattr(batch, "_fields"):
        return type(batch)(_moved(part, device) for part in batch)
    return batch
