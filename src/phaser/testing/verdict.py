"""What a failed check raises: one line with what was found and what was expected."""

from __future__ import annotations

from phaser.core.errors import PhaserError


class NotConforming(PhaserError, AssertionError):
    """An adapter or rule does not keep the promise of its port."""


def require(holds: bool, subject: object, found: str) -> None:
    """Raise unless it holds; `found` says what was found and what the port promises."""
    if not holds:
        raise NotConforming(f"{type(subject).__name__}: {found}")
