"""Images or maps of features, moved across and down by part of their size; edges are repeated."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Shaped

from phaser.methods.penalty import Tensor

_WITH_HEIGHT_AND_WIDTH = 4
_COLOURS = 3


def shifted(
    images: Mapping[str, np.ndarray], moves: Float[Tensor, "copies 2"]
) -> dict[str, Shaped[np.ndarray, "rows ..."]]:
    """Every row moved by each move in turn, one after the other; moves are shares of the size.

    Maps are channels × height × width, images height × width × colours; arrays of another shape
    are repeated as they are.
    """
    import torch

    moving = bool(moves.any())
    return {
        name: _moved(torch.from_numpy(rows), moves).numpy()
        if moving and rows.ndim == _WITH_HEIGHT_AND_WIDTH
        else np.repeat(rows, len(moves), axis=0)
        for name, rows in images.items()
    }


def _moved(
    rows: Shaped[Tensor, "rows a b c"], moves: Float[Tensor, "copies 2"]
) -> Shaped[Tensor, "copied a b c"]:
    import torch
    from torch.nn.functional import pad

    has_colours = rows.shape[-1] == _COLOURS
    maps = (rows.movedim(-1, 1) if has_colours else rows).float()
    height, width = maps.shape[-2:]
    edge = math.ceil(float(moves.abs().max()) * max(height, width)) + 1
    # Neighbours are then slices, which are many times faster than indices.
    padded = pad(maps, (edge,) * 4, mode="replicate")
    new = torch.empty((len(rows), len(moves), *rows.shape[1:]), dtype=rows.dtype)
    for copy, (down, across) in enumerate(moves.tolist()):
        block = _along(_along(padded, 2, height, edge, down), 3, width, edge, across)
        block = block if rows.is_floating_point() else block.round()
        new[:, copy] = block.movedim(1, -1) if has_colours else block
    return new.flatten(0, 1)


def _along(
    padded: Float[Tensor, "rows ..."], axis: int, size: int, edge: int, share: float
) -> Float[Tensor, "rows ..."]:
    """Between two neighbours, each by its nearness."""
    import torch

    start = math.floor(share * size)
    places = (torch.arange(size) + share * size).clamp(0, size - 1)
    weight = (places - (torch.arange(size) + start)).clamp(0, 1)
    before = padded.narrow(axis, edge + start, size)
    after = padded.narrow(axis, edge + start + 1, size)
    return torch.lerp(before, after, weight.view(-1, *[1] * (padded.ndim - axis - 1)))
