"""One leaf of a shard: its arrays are checked when it is opened, each row when it is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int64

from phaser.core.errors import BrokenFile
from phaser.memory.codecs import ImageCodec
from phaser.memory.image_form import ImageForm
from phaser.memory.leaf_writer import OFFSET_BYTES
from phaser.memory.sample_tree import LeafKind, from_array

_KINDS = {"array": ("numpy", "scalar", "tensor", "pil"), "bytes": ("",), "json": ("",)}
_FORMS = {"layout": ("hwc", "chw", "hw"), "scale": ("bytes", "divided", "multiplied")}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LeafReader:
    """Rows of one leaf; all arrays are views of the memory map."""

    kind: LeafKind
    form: ImageForm | None
    codec: ImageCodec
    values: np.ndarray
    offsets: np.ndarray | None
    shapes: np.ndarray | None
    coded: np.ndarray | None
    where: str

    def read(self, row: int) -> Any:
        if self.offsets is None:
            return from_array(self.kind, np.array(self.values[row]))
        begin, end = int(self.offsets[row]), int(self.offsets[row + 1])
        if not 0 <= begin <= end <= len(self.values):
            raise self._broken(row, f"spans bytes {begin} to {end} of {len(self.values)}")
        content = self.values[begin:end].tobytes()
        if self.kind.kind == "bytes":
            return content
        if self.kind.kind == "json":
            return self._from_json(content, row)
        return from_array(self.kind, self._array(content, row))

    def row_bytes(self) -> Int64[np.ndarray, "rows"]:
        """Bytes that each row takes, its entries in the index included."""
        if self.offsets is None:
            return np.full(len(self.values), self.values[:1].nbytes, np.int64)
        index = OFFSET_BYTES * (1 + self.kind.dimensions)
        sizes: np.ndarray = np.diff(self.offsets) + index
        return sizes if self.coded is None else np.add(sizes, self.coded)

    def _array(self, content: bytes, row: int) -> np.ndarray:
        assert self.shapes is not None
        shape = tuple(self.shapes[row].tolist())
        dtype = np.dtype(self.kind.dtype)
        if self.form is not None and self.coded is not None and self.coded[row]:
            if not self.form.fits(shape):
                raise self._broken(row, f"declares an image of shape {shape}")
            where = f"frame {row} of {self.where}"
            pixels = self.codec.decode(content, self.form.pixel_shape(shape), where)
            return self.form.array(pixels, shape, dtype)
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content):
            raise self._broken(row, f"declares the shape {shape} for {len(content)} bytes")
        array: np.ndarray = np.frombuffer(content, dtype).reshape(shape).copy()
        return array

    def _from_json(self, content: bytes, row: int) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._broken(row, f"is not JSON ({error})") from error

    def _broken(self, row: int, what: str) -> BrokenFile:
        return BrokenFile(f"frame {row} of {self.where} {what}; restore the file")


def open_leaf(
    entry: Any,
    name: str,
    arrays: Mapping[str, np.ndarray],
    *,
    rows: int,
    codec: ImageCodec,
    where: str,
) -> LeafReader:
    """A leaf as the header describes it, if its arrays are there and fit the description."""
    kind, form, stacked = _described(entry, where)
    values, offsets = arrays.get(name), arrays.get(f"{name}.offsets")
    shapes, coded = arrays.get(f"{name}.shapes"), arrays.get(f"{name}.coded")
    is_array = kind.kind == "array"
    present = [values is not None, offsets is not None, shapes is not None, coded is not None]
    fits = present == [True, not stacked, is_array and not stacked, form is not None]
    if values is not None and stacked:
        fits &= values.dtype.name == kind.dtype and len(values.shape) == 1 + kind.dimensions
        fits &= values.shape[:1] == (rows,)
    elif values is not None:
        fits &= values.dtype == np.uint8 and values.ndim == 1
    fits &= offsets is None or (offsets.dtype == np.int64 and offsets.shape == (rows + 1,))
    fits &= shapes is None or (shapes.dtype == np.int64 and shapes.shape == (rows, kind.dimensions))
    fits &= coded is None or (coded.dtype == np.bool_ and coded.shape == (rows,))
    if not fits or values is None:
        raise BrokenFile(f"{where} has arrays that do not fit its leaf {name!r}; restore it")
    return LeafReader(
        kind=kind,
        form=form,
        codec=codec,
        values=values,
        offsets=offsets,
        shapes=shapes,
        coded=coded,
        where=f"{where} ({name})",
    )


def _described(entry: Any, where: str) -> tuple[LeafKind, ImageForm | None, bool]:
    broken = BrokenFile(f"{where} describes a leaf that makes no sense; restore it")
    wanted = {"kind", "of", "dtype", "tensor", "dimensions", "stacked", "image"}
    if not isinstance(entry, dict) or set(entry) != wanted:
        raise broken
    entry = dict(entry)
    stacked, image = entry.pop("stacked"), entry.pop("image")
    texts = all(isinstance(entry[key], str) for key in ("kind", "of", "dtype", "tensor"))
    if not texts or type(entry["dimensions"]) is not int or type(stacked) is not bool:
        raise broken
    if entry["of"] not in _KINDS.get(entry["kind"], ()):
        raise broken
    kind = LeafKind(**entry)
    if kind.kind == "array" and kind.dtype not in _DTYPES:
        raise BrokenFile(f"{where} has a leaf of type {kind.dtype!r}, which no memory holds")
    if image is None:
        return kind, None, stacked
    if not isinstance(image, dict) or set(image) != set(_FORMS) or stacked:
        raise broken
    if kind.kind != "array" or any(image[key] not in known for key, known in _FORMS.items()):
        raise broken
    return kind, ImageForm(**image), stacked


_DTYPES = frozenset(
    ["bool", "float16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
