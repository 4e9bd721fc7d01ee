"""A sample as structure and leaves: the structure is the same for all frames of a task.

Dicts, tuples, and lists that hold arrays, images or bytes are structure. Numbers, text, None and
lists of them, or of dicts of them, are leaves of their own, so that they may vary in length from
frame to frame, as LeRobot's language annotations do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from PIL import Image

from phaser.core.errors import BadInput, BrokenFile
from phaser.memory.sample import Sample, TensorArray
from phaser.memory.tensor_file import storable

MAX_DEPTH = 32
PIL_MODES = ("L", "RGB", "RGBA")
_PLAIN = (str, int, float, bool, type(None))

Node = dict[str, Any]
"""JSON: {"leaf": n}, or one of "dict", "list", "tuple" with its items."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeafKind:
    """What a leaf is, the same in every frame; its shape may vary, its type may not."""

    kind: Literal["array", "bytes", "json"]
    of: Literal["numpy", "scalar", "tensor", "pil", ""] = ""
    """The user's type that an array came from and is turned back into."""
    dtype: str = ""
    tensor: str = ""
    """torch's name of the type, for tensors."""
    dimensions: int = 0

    def __str__(self) -> str:
        """In words, for whoever is told that two leaves differ."""
        if self.kind != "array":
            return "bytes" if self.kind == "bytes" else "plain numbers, text or None"
        names = {"numpy": "an array", "scalar": "a scalar", "tensor": "a tensor", "pil": "an image"}
        of = f" of {self.tensor or self.dtype}"
        return names.get(self.of, "an array") + of + f" in {self.dimensions} dimensions"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Leaf:
    """One leaf of one sample: an array, bytes, or what JSON can say."""

    kind: LeafKind
    value: Any


def split(sample: Sample, like: Node | None = None) -> tuple[Node, list[Leaf]]:
    """The structure of a sample and its leaves in order; refuses what cannot be stored.

    like: another sample's structure; dicts with its keys are taken in its order.
    """
    leaves: list[Leaf] = []
    return _split(sample, leaves, like or {}, path="", depth=0), leaves


def join(node: Node, values: Sequence[Any]) -> Sample:
    """The sample again, from its structure and the values of its leaves."""
    ((form, content),) = node.items()
    if form == "leaf":
        return values[content]
    if form == "dict":
        return {key: join(child, values) for key, child in content}
    items = [join(child, values) for child in content]
    return items if form == "list" else tuple(items)


def leaf_paths(node: Node, path: str = "") -> Iterator[str]:
    """Where each leaf stands, for messages and for finding images by name."""
    ((form, content),) = node.items()
    if form == "leaf":
        yield path or "the sample"
    elif form == "dict":
        for key, child in content:
            yield from leaf_paths(child, f"{path}.{key}" if path else key)
    else:
        for position, child in enumerate(content):
            yield from leaf_paths(child, f"{path}[{position}]")


def check_node(node: Any, num_leaves: int, *, where: str) -> None:
    """Refuse a structure from a file that does not use its leaves exactly once, in order."""
    if list(_checked_leaves(node, where, 0)) != list(range(num_leaves)):
        raise BrokenFile(f"{where} has a sample structure that does not fit its leaves; restore it")


def from_array(kind: LeafKind, array: np.ndarray) -> Any:
    """The user's own type, from an array that nothing else holds."""
    if kind.of == "scalar":
        return array[()]
    if kind.of == "tensor":
        return TensorArray(values=array, dtype=kind.tensor)
    return Image.fromarray(array) if kind.of == "pil" else array


def _split(value: Any, leaves: list[Leaf], like: Node, *, path: str, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise BadInput(f"a sample is nested deeper than {MAX_DEPTH} levels at {path}; flatten it")
    if type(value) is dict:
        known = dict(like.get("dict", ()))
        keys = known if known.keys() == value.keys() else value
        for key in value:
            if type(key) is not str:
                raise BadInput(f"a sample has the key {key!r} at {path or 'its top'}; use text")
        return {
            "dict": [
                [
                    key,
                    _split(
                        value[key],
                        leaves,
                        known.get(key, {}),
                        path=f"{path}.{key}" if path else key,
                        depth=depth + 1,
                    ),
                ]
                for key in keys
            ]
        }
    if type(value) is tuple or (type(value) is list and not _plain(value, depth)):
        form = type(value).__name__
        known_items = like.get(form, ())
        alike = known_items if len(known_items) == len(value) else [{}] * len(value)
        return {
            form: [
                _split(one, leaves, child, path=f"{path}[{position}]", depth=depth + 1)
                for position, (one, child) in enumerate(zip(value, alike, strict=True))
            ]
        }
    leaves.append(_leaf(value, path or "the sample"))
    return {"leaf": len(leaves) - 1}


def _plain(value: Any, depth: int) -> bool:
    """JSON gives it back as it was: no tuples, no keys but text."""
    if type(value) is list:
        return depth <= MAX_DEPTH and all(_plain(one, depth + 1) for one in value)
    if type(value) is dict:
        inside = depth <= MAX_DEPTH and all(type(key) is str for key in value)
        return inside and all(_plain(one, depth + 1) for one in value.values())
    return type(value) in _PLAIN


def _leaf(value: Any, path: str) -> Leaf:
    if type(value) is bytes:
        return Leaf(kind=LeafKind(kind="bytes"), value=value)
    if type(value) in (list, *_PLAIN):
        return Leaf(kind=LeafKind(kind="json"), value=value)
    if isinstance(value, TensorArray):
        return _array_leaf(value.values, "tensor", path, tensor=value.dtype)
    if type(value) in (np.ndarray, np.memmap):
        return _array_leaf(value, "numpy", path)
    if isinstance(value, np.generic):
        return _array_leaf(np.asarray(value), "scalar", path)
    if isinstance(value, Image.Image):
        if value.mode not in PIL_MODES:
            raise BadInput(f"{path} is a PIL image of mode {value.mode}; convert it to RGB")
        return _array_leaf(np.asarray(value), "pil", path)
    raise BadInput(
        f"{path} is a {type(value).__module__}.{type(value).__qualname__}, which a memory cannot "
        "hold; give arrays, tensors, PIL images, text, bytes, numbers or nests of them"
    )


def _array_leaf(
    array: np.ndarray, of: Literal["numpy", "scalar", "tensor", "pil"], path: str, tensor: str = ""
) -> Leaf:
    if not storable(array.dtype):
        raise BadInput(
            f"{path} is an array of type {array.dtype}, which a memory cannot hold; convert it to "
            "booleans, integers, float16, float32 or float64"
        )
    kind = LeafKind(
        kind="array", of=of, dtype=array.dtype.name, tensor=tensor, dimensions=array.ndim
    )
    return Leaf(kind=kind, value=array)


def _checked_leaves(node: Any, where: str, depth: int) -> Iterator[int]:
    broken = BrokenFile(f"{where} has a sample structure that makes no sense; restore it")
    if depth > MAX_DEPTH + 1 or not isinstance(node, dict) or len(node) != 1:
        raise broken
    ((form, content),) = node.items()
    if form == "leaf":
        if type(content) is not int:
            raise broken
        yield content
        return
    if form not in ("dict", "list", "tuple") or not isinstance(content, list):
        raise broken
    for item in content:
        if form == "dict":
            if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)):
                raise broken
            item = item[1]
        yield from _checked_leaves(item, where, depth + 1)
