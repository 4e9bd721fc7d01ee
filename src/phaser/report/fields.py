"""Take typed fields out of JSON objects; an error names the file and what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phaser.core.errors import BrokenFile
from phaser.core.files import read_json
from phaser.core.ranges import is_number


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object."""
    return as_object(read_json(path), path)


def as_object(value: Any, where: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BrokenFile(f"{where} holds {type(value).__name__} where an object was expected")
    return value


def as_list(value: Any, where: Path) -> list[Any]:
    if not isinstance(value, list):
        raise BrokenFile(f"{where} holds {type(value).__name__} where a list was expected")
    return value


def text(value: Mapping[str, Any], name: str, where: Path) -> str:
    found = value.get(name)
    if not isinstance(found, str):
        raise _wrong(name, found, "text", where)
    return found


def whole(value: Mapping[str, Any], name: str, where: Path) -> int:
    found = value.get(name)
    if not isinstance(found, int) or isinstance(found, bool):
        raise _wrong(name, found, "a whole number", where)
    return found


def number(value: Mapping[str, Any], name: str, where: Path) -> float:
    found = value.get(name)
    if not isinstance(found, int | float) or not is_number(found):
        raise _wrong(name, found, "a number", where)
    return float(found)


def _wrong(name: str, found: object, expected: str, where: Path) -> BrokenFile:
    return BrokenFile(f"{where}: {name!r} is {found!r}; expected {expected}")
