"""Noise of a batch's rows by their places in the batch of all processes.

Every process draws the noise of the whole batch and takes its own rows, so that a sample has the
same noise however many processes share the batch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from phaser.core.streams import Stream


class RowNoise:
    """Draws from one stream, in order; shapes begin with the number of this process's rows."""

    def __init__(
        self, stream: Stream, *, places: np.ndarray | None = None, num_places: int | None = None
    ) -> None:
        self._generator = torch.Generator().manual_seed(stream.integer())
        self._places = None if places is None else torch.from_numpy(places)
        self._num_places = num_places

    def normal(self, shape: tuple[int, ...]) -> Float[Tensor, "rows ..."]:
        """Standard normal numbers."""
        return self._rows(torch.randn, shape)

    def uniform(self, shape: tuple[int, ...]) -> Float[Tensor, "rows ..."]:
        """Numbers between 0 and 1."""
        return self._rows(torch.rand, shape)

    def _rows(self, draw: Callable[..., Tensor], shape: tuple[int, ...]) -> Tensor:
        if self._places is None or self._num_places is None:
            return draw(shape, generator=self._generator)
        return draw((self._num_places, *shape[1:]), generator=self._generator)[self._places]
