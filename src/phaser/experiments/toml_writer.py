"""Values as TOML, which Python reads but does not write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from phaser.core.errors import BadInput
from phaser.experiments.changed import NOTHING


def toml_lines(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """One line per value; values inside others have dotted names."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from toml_lines(value, f"{prefix}{_key(name)}.")
        else:
            yield f"{prefix}{_key(name)} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """One value on one line; none is the word "none"."""
    if value is None:
        return _text(NOTHING)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(name)} = {toml_value(one)}" for name, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    raise BadInput(f"a {type(value).__name__} cannot be written as TOML; expected plain values")


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _text(name)


def _text(text: str) -> str:
    # JSON's escapes are TOML's as well, but for the one control character that JSON lets through.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
