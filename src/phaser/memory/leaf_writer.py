"""One leaf of all frames of a task, written row by row to a spool beside the shard.

Arrays whose shape never changes are stacked. Everything else (encoded images, text, bytes, arrays
of varying shape) is one run of bytes with the offset of every row, and the shape of every row
where it is an array. Images in clips also say which row each is predicted from.
"""

from __future__ import annotations

import json
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phaser.memory.clips import ClipEncoder
from phaser.memory.codecs import ImageCodec
from phaser.memory.image_form import ImageForm, form_of
from phaser.memory.sample_tree import Leaf, LeafKind
from phaser.memory.tensor_file import ArraySpec

BLOCK = 1 << 20
SPOOL_IN_MEMORY = 1 << 22
OFFSET_BYTES = 8
AFTER_BYTES = 4
NO_ROW = -1
"""The row that the first image of a clip is predicted from."""


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
    follows: bool = False
    """Predicted from the row before it."""


def image_form(leaf: Leaf, codec: ImageCodec) -> ImageForm | None:
    """How a leaf is coded as an image; None where it is stored as it is."""
    if codec.name == "raw" or leaf.kind.kind != "array":
        return None
    return form_of(leaf.value, pil=leaf.kind.of == "pil")


class LeafEncoder:
    """Encodes the rows of one leaf, one after the other."""

    def __init__(self, leaf: Leaf, codec: ImageCodec) -> None:
        self.kind: LeafKind = leaf.kind
        self.codec = codec
        self.form = image_form(leaf, codec)
        self._clip: ClipEncoder | None = None

    @property
    def in_clips(self) -> bool:
        return self.form is not None and self.codec.stores_clips

    def encode(self, leaf: Leaf, *, follows: bool = False) -> EncodedRow:
        """A frame that does not fit the leaf's form is stored as it is, never changed to fit.

        follows: the frame belongs to the clip of the frame before it.
        """
        if leaf.kind.kind == "bytes":
            return EncodedRow(content=leaf.value)
        if leaf.kind.kind == "json":
            return EncodedRow(content=json.dumps(leaf.value, separators=(",", ":")).encode())
        pixels = None if self.form is None else self.form.pixels(leaf.value)
        shape = leaf.value.shape
        if pixels is None:
            self._clip = None
            return EncodedRow(content=leaf.value.tobytes(), shape=shape)
        if not self.codec.stores_clips:
            return EncodedRow(content=self.codec.encode(pixels), shape=shape, coded=True)
        if not follows or self._clip is None or self._clip.shape != pixels.shape:
            self._clip, follows = ClipEncoder(pixels.shape, quality=self.codec.quality), False
        content = self._clip.add(pixels)
        return EncodedRow(content=content, shape=shape, coded=True, follows=follows)

    def num_bytes(self, row: EncodedRow) -> int:
        """Bytes of a row in the shard, its entries in the index included."""
        stacked = self.kind.kind == "array" and self.form is None
        index = 0 if stacked else OFFSET_BYTES * (1 + len(row.shape))
        return len(row.content) + index + row.coded + AFTER_BYTES * self.in_clips


class LeafWriter:
    """Takes the rows of one leaf, then says which arrays they make.

    order: for every row of the shard, which of the added ones it is; None: as they were added.
    """

    def __init__(
        self,
        leaf: Leaf,
        codec: ImageCodec,
        folder: Path,
        stack: ExitStack,
        order: Sequence[int] | None = None,
    ) -> None:
        self._encoder = LeafEncoder(leaf, codec)
        # Without a name: a process that dies leaves nothing behind.
        spool = tempfile.SpooledTemporaryFile(max_size=SPOOL_IN_MEMORY, dir=str(folder))  # noqa: SIM115
        self._spool = stack.enter_context(spool)
        self._order = order
        self._ends = array("q", [0])
        self._shapes = array("q")
        self._coded = array("b")
        self._follows = array("b")
        self._num_shapes: set[tuple[int, ...]] = set()

    def add(self, leaf: Leaf, *, follows: bool = False) -> None:
        row = self._encoder.encode(leaf, follows=follows)
        self._spool.write(row.content)
        self._ends.append(self._ends[-1] + len(row.content))
        self._shapes.extend(row.shape)
        self._coded.append(row.coded)
        self._follows.append(row.follows)
        self._num_shapes.add(row.shape)

    @property
    def kind(self) -> LeafKind:
        return self._encoder.kind

    @property
    def stacked(self) -> bool:
        one_shape = len(self._num_shapes) == 1
        return self.kind.kind == "array" and self._encoder.form is None and one_shape

    def row_bytes(self) -> np.ndarray:
        """Bytes that each row takes, counted as `LeafEncoder.num_bytes` does."""
        index = 0 if self.stacked else OFFSET_BYTES * (1 + self.kind.dimensions)
        index += AFTER_BYTES * self._encoder.in_clips
        coded = self._placed(np.frombuffer(self._coded, np.int8))
        found: np.ndarray = np.add(self._sizes() + index, coded)
        return found

    def describe(self) -> dict[str, Any]:
        """The leaf for the shard's header."""
        form = None if self._encoder.form is None else asdict(self._encoder.form)
        return {**asdict(self.kind), "stacked": self.stacked, "image": form}

    def pieces(self, name: str) -> dict[str, Piece]:
        rows = len(self._coded)
        if self.stacked:
            (shape,) = self._num_shapes
            spec = ArraySpec(dtype=np.dtype(self.kind.dtype), shape=(rows, *shape))
            return {name: Piece(spec=spec, blocks=self._blocks)}
        spec = ArraySpec(dtype=np.dtype(np.uint8), shape=(self._ends[-1],))
        offsets = np.concatenate([[0], np.cumsum(self._sizes())])
        made = {
            name: Piece(spec=spec, blocks=self._blocks),
            f"{name}.offsets": Piece.of(offsets.astype(np.int64)),
        }
        if self.kind.kind == "array":
            shapes = np.frombuffer(self._shapes, np.int64).reshape(rows, self.kind.dimensions)
            made[f"{name}.shapes"] = Piece.of(self._placed(shapes))
        if self._encoder.form is not None:
            coded = np.frombuffer(self._coded, np.bool_)
            made[f"{name}.coded"] = Piece.of(self._placed(coded))
        if self._encoder.in_clips:
            made[f"{name}.after"] = Piece.of(self._after())
        return made

    def _after(self) -> np.ndarray:
        """For every row the one that it is predicted from."""
        added = np.arange(len(self._coded), dtype=np.int32)
        row_of = added.copy()
        if self._order is not None:
            row_of[np.asarray(self._order)] = added
        before = np.concatenate([[NO_ROW], row_of[:-1]]).astype(np.int32)
        return self._placed(np.where(np.frombuffer(self._follows, np.bool_), before, NO_ROW))

    def _sizes(self) -> np.ndarray:
        return self._placed(np.diff(np.frombuffer(self._ends, np.int64)))

    def _placed(self, added: np.ndarray) -> np.ndarray:
        """Values of the rows in the order of the shard."""
        return added if self._order is None else added[np.asarray(self._order)]

    def _blocks(self) -> Iterator[bytes]:
        if self._order is not None:
            for added in self._order:
                self._spool.seek(self._ends[added])
                yield self._spool.read(self._ends[added + 1] - self._ends[added])
            return
        self._spool.seek(0)
        while block := self._spool.read(BLOCK):
            yield block
