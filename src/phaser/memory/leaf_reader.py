"""One leaf of a shard: its arrays are checked when it is opened, each row when it is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int32, Int64

from phaser.core.errors import BrokenFile
from phaser.memory.clips import CLIP_FRAMES
from phaser.memory.codecs import ImageCodec
from phaser.memory.image_form import ImageForm
from phaser.memory.leaf_writer import AFTER_BYTES, NO_ROW, OFFSET_BYTES
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
    after: np.ndarray | None
    """The row that each image of a clip is predicted from; none where there are no clips."""
    where: str

    def read(self, row: int) -> Any:
        if self.offsets is None:
            return from_array(self.kind, np.array(self.values[row]))
        content = b"".join(map(self.content, self._clip_up_to(row)))
        if self.kind.kind == "bytes":
            return content
        if self.kind.kind == "json":
            return self._from_json(content, row)
        return from_array(self.kind, self._array(content, row))

    def content(self, row: int) -> bytes:
        """Bytes of a row of a leaf that is not stacked."""
        assert self.offsets is not None
        begin, end = int(self.offsets[row]), int(self.offsets[row + 1])
        if not 0 <= begin <= end <= len(self.values):
            raise self._broken(row, f"spans bytes {begin} to {end} of {len(self.values)}")
        return self.values[begin:end].tobytes()

    def row_bytes(self, rows: Int64[np.ndarray, "kept"]) -> Int64[np.ndarray, "kept"]:
        """Bytes that each of these rows takes where no others are kept, with its index entries."""
        if self.offsets is None:
            return np.full(len(rows), self.values[:1].nbytes, np.int64)
        index = OFFSET_BYTES * (1 + self.kind.dimensions) + AFTER_BYTES * (self.after is not None)
        coded = 0 if self.coded is None else self.coded[rows]
        found: np.ndarray = np.add(self.content_bytes(rows) + index, coded)
        return found

    def content_bytes(self, rows: Int64[np.ndarray, "kept"]) -> Int64[np.ndarray, "kept"]:
        """Bytes of the content of each of these rows where no others are kept."""
        assert self.offsets is not None
        sizes: np.ndarray = np.diff(self.offsets)
        if self.after is None:
            alone: np.ndarray = sizes[rows]
            return alone
        return np.array([sizes[list(part)].sum() for part in self.parts(rows)], np.int64)

    def parts(self, rows: Int64[np.ndarray, "kept"]) -> list[tuple[int, ...]]:
        """For each of these rows the rows whose bytes make its content where no others are kept.

        An image of a clip takes along the images before it that are not kept, as it is predicted
        from them.
        """
        if self.after is None:
            return [(row,) for row in rows.tolist()]
        kept = set(rows.tolist())
        made: list[tuple[int, ...]] = []
        for row in rows.tolist():
            clip = self._clip_up_to(row)
            stop = next((at for at in range(len(clip) - 2, -1, -1) if clip[at] in kept), -1)
            made.append(tuple(clip[stop + 1 :]))
        return made

    def after_among(self, rows: Int64[np.ndarray, "kept"]) -> Int32[np.ndarray, "kept"]:
        """For each of these rows the place among them of the one that it is predicted from."""
        assert self.after is not None
        places = np.full(len(self.after), NO_ROW, np.int32)
        places[rows] = np.arange(len(rows), dtype=np.int32)
        before = self.after[[part[0] for part in self.parts(rows)]]
        return np.where(before == NO_ROW, np.int32(NO_ROW), places[before])

    def _clip_up_to(self, row: int) -> list[int]:
        """The rows of a clip from its first image to this one."""
        clip = [row]
        while self.after is not None and (before := int(self.after[clip[-1]])) != NO_ROW:
            if not 0 <= before < len(self.after) or len(clip) == CLIP_FRAMES:
                raise self._broken(row, f"follows row {before} in a clip that cannot be")
            clip.append(before)
        return clip[::-1]

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
    after = arrays.get(f"{name}.after")
    is_array, is_image = kind.kind == "array", form is not None
    present = [one is not None for one in (values, offsets, shapes, coded, after)]
    in_clips = is_image and codec.stores_clips
    fits = present == [True, not stacked, is_array and not stacked, is_image, in_clips]
    if values is not None and stacked:
        fits &= values.dtype.name == kind.dtype and len(values.shape) == 1 + kind.dimensions
        fits &= values.shape[:1] == (rows,)
    elif values is not None:
        fits &= values.dtype == np.uint8 and values.ndim == 1
    fits &= offsets is None or (offsets.dtype == np.int64 and offsets.shape == (rows + 1,))
    fits &= shapes is None or (shapes.dtype == np.int64 and shapes.shape == (rows, kind.dimensions))
    fits &= coded is None or (coded.dtype == np.bool_ and coded.shape == (rows,))
    fits &= after is None or (after.dtype == np.int32 and after.shape == (rows,))
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
        after=after,
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
