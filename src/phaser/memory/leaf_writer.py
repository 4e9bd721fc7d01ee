"""One leaf of all frames of a task, written row by row to a spool beside the shard.

Arrays whose shape never changes are stacked. Everything else (encoded images, text, bytes, arrays
of varying shape) is one run of bytes with the offset of every row, and the shape of every row
where it is an array.
"""

from __future__ import annotations

import json
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phaser.memory.codecs import ImageCodec
from phaser.memory.image_form import ImageForm, form_of
from phaser.memory.sample_tree import Leaf, LeafKind
from phaser.memory.tensor_file import ArraySpec

BLOCK = 1 << 20
SPOOL_IN_MEMORY = 1 << 22
OFFSET_BYTES = 8


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Piece:
    """An array on its way into a file; `blocks` gives its bytes anew each time."""

    spec: ArraySpec
    blocks: Callable[[], Iterable[bytes | memoryview]]

    @classmethod
    def of(cls, values: np.ndarray) -> Piece:
        values = np.ascontiguousarray(values)
        spec = ArraySpec(dtype=values.dtype, shape=values.shape)
        return cls(spec=spec, blocks=lambda: (values.tobytes(),))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EncodedRow:
    """One leaf of one frame as bytes."""

    content: bytes
    shape: tuple[int, ...] = ()
    coded: bool = False

    def num_bytes(self, *, stacked: bool) -> int:
        """What it takes in the shard, its entries in the index included."""
        index = 0 if stacked else OFFSET_BYTES * (1 + len(self.shape))
        return len(self.content) + index + self.coded


def image_form(leaf: Leaf, codec: ImageCodec) -> ImageForm | None:
    """How a leaf is coded as an image; None where it is stored as it is."""
    if codec.name == "raw" or leaf.kind.kind != "array":
        return None
    return form_of(leaf.value, pil=leaf.kind.of == "pil")


def encode(leaf: Leaf, codec: ImageCodec, form: ImageForm | None) -> EncodedRow:
    """A frame that does not fit the leaf's form is stored as it is, never changed to fit."""
    if leaf.kind.kind == "bytes":
        return EncodedRow(content=leaf.value)
    if leaf.kind.kind == "json":
        return EncodedRow(content=json.dumps(leaf.value, separators=(",", ":")).encode())
    pixels = None if form is None else form.pixels(leaf.value)
    if pixels is None:
        return EncodedRow(content=leaf.value.tobytes(), shape=leaf.value.shape)
    return EncodedRow(content=codec.encode(pixels), shape=leaf.value.shape, coded=True)


class LeafWriter:
    """Takes the rows of one leaf, then says which arrays they make."""

    def __init__(self, leaf: Leaf, codec: ImageCodec, folder: Path, stack: ExitStack) -> None:
        self.kind: LeafKind = leaf.kind
        self._codec = codec
        self._form = image_form(leaf, codec)
        # Without a name: a process that dies leaves nothing behind.
        spool = tempfile.SpooledTemporaryFile(max_size=SPOOL_IN_MEMORY, dir=str(folder))  # noqa: SIM115
        self._spool = stack.enter_context(spool)
        self._offsets = array("q", [0])
        self._shapes = array("q")
        self._coded = array("b")
        self._num_shapes: set[tuple[int, ...]] = set()

    def add(self, leaf: Leaf) -> None:
        row = encode(leaf, self._codec, self._form)
        self._spool.write(row.content)
        self._offsets.append(self._offsets[-1] + len(row.content))
        self._shapes.extend(row.shape)
        self._coded.append(row.coded)
        self._num_shapes.add(row.shape)

    @property
    def stacked(self) -> bool:
        one_shape = len(self._num_shapes) == 1
        return self.kind.kind == "array" and self._form is None and one_shape

    def row_bytes(self) -> np.ndarray:
        """Bytes that each row takes, counted as `EncodedRow.num_bytes` does."""
        sizes = np.diff(np.frombuffer(self._offsets, np.int64))
        index = 0 if self.stacked else OFFSET_BYTES * (1 + self.kind.dimensions)
        return sizes + index + np.frombuffer(self._coded, np.int8)

    def describe(self) -> dict[str, Any]:
        """The leaf for the shard's header."""
        form = None if self._form is None else asdict(self._form)
        return {**asdict(self.kind), "stacked": self.stacked, "image": form}

    def pieces(self, name: str) -> dict[str, Piece]:
        rows = len(self._offsets) - 1
        if self.stacked:
            (shape,) = self._num_shapes
            spec = ArraySpec(dtype=np.dtype(self.kind.dtype), shape=(rows, *shape))
            return {name: Piece(spec=spec, blocks=self._blocks)}
        spec = ArraySpec(dtype=np.dtype(np.uint8), shape=(self._offsets[-1],))
        made = {
            name: Piece(spec=spec, blocks=self._blocks),
            f"{name}.offsets": Piece.of(np.frombuffer(self._offsets, np.int64)),
        }
        if self.kind.kind == "array":
            shapes = np.frombuffer(self._shapes, np.int64).reshape(rows, self.kind.dimensions)
            made[f"{name}.shapes"] = Piece.of(shapes)
        if self._form is not None:
            made[f"{name}.coded"] = Piece.of(np.frombuffer(self._coded, np.bool_))
        return made

    def _blocks(self) -> Iterator[bytes]:
        self._spool.seek(0)
        while block := self._spool.read(BLOCK):
            yield block
