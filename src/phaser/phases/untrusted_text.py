"""Text that somebody else wrote, such as a model's answer, made fit for messages and files."""

from __future__ import annotations

from typing import Any

MAX_QUOTED = 60
"""Characters of untrusted content that a message quotes."""
MAX_REASON = 1000
"""Characters of untrusted prose that are kept."""


def one_line(text: str) -> str:
    """Untrusted prose that will be shown on terminals and written to files."""
    return "".join(c if c.isprintable() else " " for c in text[:MAX_REASON])


def quoted(value: Any) -> str:
    """Untrusted content for a message: one line, printable, short."""
    try:
        shown = repr(value)
    except RecursionError:
        return "something nested too deeply"
    return shown if len(shown) <= MAX_QUOTED else shown[:MAX_QUOTED] + "…"
