"""Tensors of a torch file in its layout before the zip one, read without running anything in it.

Such a file is five pickles and then the raw numbers. `pickletools` lists a pickle's opcodes and
never executes them; the few that a dictionary of tensors needs are followed here as plain data.
A name of a function stays a name, and an opcode or function that is not expected ends the reading.
"""

from __future__ import annotations

import pickletools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from phaser.core.errors import BrokenFile
from phaser.core.files import open_file

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
TYPES: dict[str, np.dtype] = {
    "torch FloatStorage": np.dtype("<f4"),
    "torch LongStorage": np.dtype("<i8"),
}
MARK = object()
PUSHED = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": (), "MARK": MARK}
ARGUMENTS = {"BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "GLOBAL"}
CONTAINERS = {"EMPTY_DICT": dict, "EMPTY_LIST": list}
# The frame of a pickle, and a reference to a storage, which is its own tuple here.
PASSED_OVER = {"PROTO", "STOP", "BINPERSID"}


class _Described(NamedTuple):
    """A tensor by where its numbers lie: the storage's (word, type, key, device, length, view)."""

    storage: tuple[str, str, str, str, int, None]
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """All tensors of the file by name, as arrays of their own."""
    with open_file(path) as stream:
        if (_value(stream, path), _value(stream, path)) != (MAGIC, PROTOCOL):
            raise BrokenFile(f"{path} is no torch file of the layout before the zip one")
        _value(stream, path)  # sizes of C types; the types below say their own
        described: dict[str, _Described] = _value(stream, path)
        keys: list[str] = _value(stream, path)
        types = {one.storage[2]: TYPES[one.storage[1]] for one in described.values()}
        storages = dict(_storages(stream, keys, types))
    return {name: _tensor(storages[one.storage[2]], one, path) for name, one in described.items()}


def _storages(
    stream: BinaryIO, keys: list[str], types: dict[str, np.dtype]
) -> Iterator[tuple[str, np.ndarray]]:
    for key in keys:
        length = int.from_bytes(stream.read(8), "little")
        yield key, np.frombuffer(stream.read(length * types[key].itemsize), types[key])


def _tensor(numbers: np.ndarray, one: _Described, path: Path) -> np.ndarray:
    last = one.offset + sum(
        (length - 1) * step for length, step in zip(one.shape, one.stride, strict=True)
    )
    negative = min((one.offset, *one.shape, *one.stride)) < 0
    if 0 not in one.shape and (negative or last >= len(numbers)):
        raise BrokenFile(f"{path} ends before the last number of a tensor, or holds it elsewhere")
    steps = [step * numbers.itemsize for step in one.stride]
    return as_strided(numbers[one.offset :], one.shape, steps).copy()


def _value(stream: BinaryIO, path: Path) -> Any:
    """What the next pickle of the file describes."""
    stack: list[Any] = []
    memo: dict[Any, Any] = {}
    for opcode, argument, _ in pickletools.genops(stream):
        name = opcode.name
        if name in PUSHED:
            stack.append(PUSHED[name])
        elif name in ARGUMENTS:
            stack.append(argument)
        elif name in CONTAINERS:
            stack.append(CONTAINERS[name]())
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name in GATHERING:
            GATHERING[name](stack)
        elif name not in PASSED_OVER:
            raise BrokenFile(f"{path} holds the opcode {name}, which no plain weights need")
    return stack.pop()


def _to_mark(stack: list[Any]) -> list[Any]:
    at = len(stack) - 1 - stack[::-1].index(MARK)
    items = stack[at + 1 :]
    del stack[at:]
    return items


def _last(stack: list[Any], count: int) -> list[Any]:
    items = stack[-count:]
    del stack[-count:]
    return items


def _fill(stack: list[Any], items: list[Any]) -> None:
    stack[-1].update(zip(items[::2], items[1::2], strict=True))


def _extend(stack: list[Any], items: list[Any]) -> None:
    stack[-1].extend(items)


def _reduce(stack: list[Any]) -> None:
    function, arguments = _last(stack, 2)
    if function == "collections OrderedDict":
        stack.append(dict(arguments))
    elif function == "torch._utils _rebuild_tensor_v2":
        stack.append(_Described(*arguments[:4]))
    else:
        raise BrokenFile(f"a torch file calls {function}; weights need no such call")


GATHERING = {
    "TUPLE": lambda stack: stack.append(tuple(_to_mark(stack))),
    "TUPLE1": lambda stack: stack.append(tuple(_last(stack, 1))),
    "TUPLE2": lambda stack: stack.append(tuple(_last(stack, 2))),
    "SETITEM": lambda stack: _fill(stack, _last(stack, 2)),
    "SETITEMS": lambda stack: _fill(stack, _to_mark(stack)),
    "APPEND": lambda stack: _extend(stack, _last(stack, 1)),
    "APPENDS": lambda stack: _extend(stack, _to_mark(stack)),
    "REDUCE": _reduce,
    # Attributes of the dictionary: versions of the modules, which nothing here reads.
    "BUILD": lambda stack: stack.pop(),
}
