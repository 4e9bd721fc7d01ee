"""Named arrays in one file, in the safetensors layout: written as a stream, read by memory map.

Eight bytes with the length of the header, the header (JSON: name, type, shape and place of each
array, and text of ours), then the arrays one after another without a gap. Every number of the
header is checked against the real size of the file before it is used; arrays are views of the
map, so nothing is read until it is asked for.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.errors import BrokenFile

MAX_HEADER_BYTES = 100_000_000
MAX_DIMENSIONS = 32
_LENGTH = struct.Struct("<Q")
_NUMPY_TYPES = {
    "BOOL": "?",
    "U8": "<u1",
    "U16": "<u2",
    "U32": "<u4",
    "U64": "<u8",
    "I8": "<i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
_TYPE_NAMES = {np.dtype(text): name for name, text in _NUMPY_TYPES.items()}

Version = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class ArraySpec:
    """Type and shape of an array that is to be written."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TensorFile:
    """The arrays of an open file; the map stays valid after the file's name is gone."""

    arrays: Mapping[str, np.ndarray]
    text: Mapping[str, str]
    version: Version
    """What changes when the file is replaced or written to."""
    content: mmap.mmap | None = field(default=None, repr=False)

    def is_whole(self) -> bool:
        """False once the mapped file was overwritten with zeros."""
        return self.content is None or self.content[: _LENGTH.size] != bytes(_LENGTH.size)


def storable(dtype: np.dtype[Any]) -> bool:
    return dtype in _TYPE_NAMES and dtype.isnative


def in_writing_order(specs: Mapping[str, ArraySpec]) -> list[str]:
    """Wide types first, so that every array starts at a multiple of its item's size."""
    return sorted(specs, key=lambda name: (-specs[name].dtype.itemsize, name))


def header(specs: Mapping[str, ArraySpec], text: Mapping[str, str]) -> bytes:
    """All that precedes the arrays, which then follow in `in_writing_order`."""
    entries: dict[str, Any] = {"__metadata__": dict(text)}
    edge = 0
    for name in in_writing_order(specs):
        spec = specs[name]
        entries[name] = {
            "dtype": _TYPE_NAMES[spec.dtype],
            "shape": list(spec.shape),
            "data_offsets": [edge, edge + spec.num_bytes],
        }
        edge += spec.num_bytes
    content = json.dumps(entries, separators=(",", ":")).encode()
    content += b" " * (-len(content) % 8)
    return _LENGTH.pack(len(content)) + content


def open_tensor_file(path: Path, *, num_bytes: int) -> TensorFile:
    """Map a regular file of exactly the declared size; a link is never followed."""
    handle = open_regular(path)
    try:
        found = os.fstat(handle)
        if found.st_size != num_bytes or num_bytes < _LENGTH.size:
            raise BrokenFile(
                f"{path} has {found.st_size} bytes, the manifest declares {num_bytes}; restore it"
            )
        content = mmap.mmap(handle, num_bytes, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)
    entries, start = _read_header(content, path)
    text = entries.pop("__metadata__", {})
    if not isinstance(text, dict) or not all(isinstance(value, str) for value in text.values()):
        raise _broken(path, "its metadata is not text")
    return TensorFile(
        arrays=_arrays(content, start, entries, path),
        text=text,
        version=version_of(found),
        content=content,
    )


def open_regular(path: Path) -> int:
    """A handle for reading a plain file; links, folders, pipes and devices are refused."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise BrokenFile(f"{path} does not exist; restore the memory") from error
    except OSError as error:
        raise BrokenFile(f"{path} cannot be opened as a plain file ({error.strerror})") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise BrokenFile(f"{path} is not a plain file; restore the memory")
    return handle


def version_of(found: os.stat_result) -> Version:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read_header(content: mmap.mmap, path: Path) -> tuple[dict[str, Any], int]:
    length = _LENGTH.unpack_from(content)[0]
    if length > min(len(content) - _LENGTH.size, MAX_HEADER_BYTES):
        raise _broken(path, f"its header claims {length} bytes")
    start = _LENGTH.size + length
    try:
        entries = json.loads(content[_LENGTH.size : start])
    except (ValueError, RecursionError) as error:
        raise _broken(path, f"its header is not JSON ({error})") from error
    if not isinstance(entries, dict):
        raise _broken(path, "its header is not a JSON object")
    return entries, start


def _arrays(
    content: mmap.mmap, start: int, entries: Mapping[str, Any], path: Path
) -> dict[str, np.ndarray]:
    """Views of all arrays, which must fill the file without gap or overlap."""
    num_bytes = len(content) - start
    places = {name: _place(entry, num_bytes, name, path) for name, entry in entries.items()}
    edge = 0
    arrays: dict[str, np.ndarray] = {}
    for name, (begin, spec) in sorted(
        places.items(), key=lambda item: (item[1][0], item[1][1].num_bytes)
    ):
        if begin != edge:
            raise _broken(path, f"array {name!r} starts at byte {begin}, expected {edge}")
        edge += spec.num_bytes
        flat = np.frombuffer(content, np.uint8, spec.num_bytes, start + begin)
        arrays[name] = flat.view(spec.dtype).reshape(spec.shape)
    if edge != num_bytes:
        raise _broken(path, f"its arrays end at byte {edge} of {num_bytes}")
    return arrays


def _place(entry: Any, num_bytes: int, name: str, path: Path) -> tuple[int, ArraySpec]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise _broken(path, f"array {name!r} has no type, shape and place")
    dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _NUMPY_TYPES:
        raise _broken(path, f"array {name!r} has the type {dtype!r}, which no memory holds")
    if not _counts(shape) or len(shape) > MAX_DIMENSIONS or not _counts(place) or len(place) != 2:
        raise _broken(path, f"array {name!r} has the shape {shape!r} at {place!r}")
    spec = ArraySpec(dtype=np.dtype(_NUMPY_TYPES[dtype]), shape=tuple(shape))
    begin, end = place
    # Python's integers do not overflow: a shape of 10^12 items is compared, never allocated.
    if not begin <= end <= num_bytes or spec.num_bytes != end - begin:
        raise _broken(path, f"array {name!r} of shape {shape} does not fit its place {place}")
    return begin, spec


def _counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(one) is int and one >= 0 for one in values)


def _broken(path: Path, what: str) -> BrokenFile:
    return BrokenFile(f"{path} is not a shard of a memory: {what}; restore it")
