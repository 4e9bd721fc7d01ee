"""Images or maps of features, moved across and down by part of their size; edges are repeated."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtyping import Float, Shaped

from phaser.methods.penalty import Tensor

_WITH_HEIGHT_AND_WIDTH = 4
_COLOURS = 3


def moved(
    inputs: Mapping[str, Tensor], moves: Float[Tensor, "copies 2"]
) -> dict[str, Shaped[Tensor, "rows ..."]]:
    """Row after row by the first move, the second, … and over again; moves are shares of the size.

    Maps are channels × height × width, images height × width × colours; inputs of another shape
    stay as they are.
    """
    return {
        name: _moved(rows, moves) if rows.ndim == _WITH_HEIGHT_AND_WIDTH else rows
        for name, rows in inputs.items()
    }


def _moved(
    rows: Shaped[Tensor, "rows a b c"], moves: Float[Tensor, "copies 2"]
) -> Shaped[Tensor, "rows a b c"]:
    import torch

    height = 1 if rows.shape[-1] == _COLOURS else 2
    new = torch.empty_like(rows)
    for copy, (down, across) in enumerate(moves.tolist()):
        block = _along(rows[copy :: len(moves)].float(), height, down)
        block = _along(block, height + 1, across)
        new[copy :: len(moves)] = block if rows.is_floating_point() else block.round()
    return new


def _along(block: Float[Tensor, "rows ..."], axis: int, share: float) -> Float[Tensor, "rows ..."]:
    """Between two neighbours, each by its nearness."""
    import torch

    size = block.shape[axis]
    places = (torch.arange(size) + share * size).clamp(0, size - 1)
    before = places.long().clamp(max=max(size - 2, 0))
    after = (before + 1).clamp(max=size - 1)
    weight = (places - before).view(-1, *[1] * (block.ndim - axis - 1))
    return torch.lerp(block.index_select(axis, before), block.index_select(axis, after), weight)
