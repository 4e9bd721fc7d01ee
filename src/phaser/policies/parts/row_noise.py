"""Random numbers of a row that depend on the row's place alone: common random numbers.

A loss that is compared before and after a step, or computed by one process or by two, must see the
same noise for the same sample. So each row of a batch has a generator of its own, found by its
place in the batch of all processes, and dropout masks are computed from a key of the row instead of
being drawn from torch's global generator. A mask that is computed again is the same.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from phaser.core.samples import Samples
from phaser.core.streams import Stream

_LOW_32 = 0xFFFFFFFF


def places_of(samples: Samples) -> Int[np.ndarray, "rows"]:
    """Places of these rows in the batch of all processes."""
    return np.arange(len(samples)) if samples.places is None else np.asarray(samples.places)


def row_generators(stream: Stream, places: Int[np.ndarray, "rows"]) -> list[np.random.Generator]:
    """A generator for each row, the same at any batch size and in any process."""
    return [stream.at_step(int(place)) for place in places]


class RowDropout(nn.Module):
    """Dropout whose mask of a row is a function of the row's key and of this layer's number."""

    def __init__(self, rate: float, number: int) -> None:
        super().__init__()
        self.rate = rate
        self.number = number

    def forward(
        self, x: Float[Tensor, "rows *rest"], keys: Int[Tensor, "rows 2"] | None
    ) -> Float[Tensor, "rows *rest"]:
        if keys is None or not self.training or self.rate == 0:
            return x
        kept = _hashed(keys, self.number, count=x[0].numel()) >= self.rate * 2**32
        return x * kept.view_as(x).to(x.dtype) / (1 - self.rate)


def _hashed(keys: Int[Tensor, "rows 2"], number: int, *, count: int) -> Int[Tensor, "rows count"]:
    """Numbers below 2**32, unlike for any two keys and for any two layers of one key."""
    positions = torch.arange(count, device=keys.device)
    of_layer = _mixed((keys[:, 1:] + number * 0x9E3779B9) & _LOW_32)
    return _mixed(_mixed(positions[None] ^ keys[:, :1]) ^ of_layer)


def _mixed(x: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
    """A bijection of 32-bit numbers after which neighbours have nothing in common."""
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & _LOW_32
    x = x ^ (x >> 15)
    x = (x * 0x846CA68B) & _LOW_32
    return x ^ (x >> 16)
