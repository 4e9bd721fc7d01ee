"""Descriptions of settings, read from the source: a field is described by the text below it."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache


def text_of(kind: type, name: str) -> str | None:
    """The text below a field of a class, or of the class that it inherits the field from."""
    for one in kind.__mro__:
        if text := _texts(one.__module__).get((one.__name__, name)):
            return text
    return None


@cache
def _texts(module: str) -> dict[tuple[str, str], str]:
    """Texts by class and field, of all classes of a module."""
    found: dict[tuple[str, str], str] = {}
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError, SyntaxError):
        # A class without a source, as one that was made in a shell, has no texts.
        return found
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        for field, below in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
                and isinstance(below.value.value, str)
            ):
                found[node.name, field.target.id] = " ".join(below.value.value.split())
    return found
