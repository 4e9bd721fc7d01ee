"""What a stored sample holds under which name: pictures and numbers, whatever its structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, UInt8

from phaser.core.errors import BadInput, UnknownName
from phaser.memory.image_form import form_of
from phaser.memory.sample import Sample
from phaser.memory.sample_tree import Leaf, leaf_paths, split

Pixels = UInt8[np.ndarray, "height width 3"]


def leaves_of(sample: Sample) -> dict[str, Leaf]:
    """Every leaf by its place, such as `observation.images.top` or `image[0]`."""
    node, leaves = split(sample)
    return dict(zip(leaf_paths(node), leaves, strict=True))


def image_names(leaves: Mapping[str, Leaf]) -> list[str]:
    """The leaves that are images, by their type."""
    return [name for name, leaf in leaves.items() if picture_of(leaf) is not None]


def picture_of(leaf: Leaf) -> Pixels | None:
    """Pixels of an image; of a history of images the last, which is the present."""
    if leaf.kind.kind != "array":
        return None
    array = leaf.value[-1] if leaf.value.ndim == 4 else leaf.value
    form = form_of(array, pil=leaf.kind.of == "pil")
    pixels = form.pixels(array) if form else None
    if pixels is None:
        return None
    return np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))


def numbers_of(leaf: Leaf, *, row: int) -> Float[np.ndarray, "size"] | None:
    """A vector as float32: of a matrix its first (0) or last (-1) row; nothing for other leaves."""
    if leaf.kind.kind == "json":
        values = np.asarray(leaf.value)
    elif leaf.kind.kind == "array":
        values = _floating(leaf.value) if leaf.kind.tensor == "bfloat16" else leaf.value
    else:
        return None
    if values.dtype.kind not in "fiub" or values.ndim > 2 or values.size == 0:
        return None
    vector = values[row] if values.ndim == 2 else np.atleast_1d(values)
    return vector.astype(np.float32)


def named(leaves: Mapping[str, Leaf], *, flag: str, given: str | None, usual: Sequence[str]) -> str:
    """The leaf that a flag names, else the first of the usual names."""
    if given is not None:
        if given not in leaves:
            raise UnknownName(f"entry of a stored sample ({flag})", given, leaves)
        return given
    found = [name for name in usual if name in leaves]
    if not found:
        raise BadInput(
            f"no stored sample has an entry {' or '.join(usual)}; name one of "
            f"{', '.join(sorted(leaves))} with {flag}"
        )
    return found[0]


def _floating(bits: np.ndarray) -> Float[np.ndarray, "..."]:
    """bfloat16 is the upper half of a float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
