"""Writes recomputed numbers into a document, in the form of the numbers that stood there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from phaser.core.errors import BadInput
from phaser.core.files import write_text
from phaser.report.checked_numbers import CheckedNumber


def update(found: Mapping[Path, Sequence[CheckedNumber]]) -> int:
    """Replace the numbers that differ from their runs; returns how many did.

    found: the checked numbers of every document. Nothing is written if one of them is a page or
    JSON.
    """
    for path, numbers in found.items():
        if any(one.start is None for one in numbers):
            raise BadInput(f"{path} is what a report wrote; make it anew with phaser report")
    return sum(_update(path, numbers) for path, numbers in found.items())


def _update(path: Path, numbers: Sequence[CheckedNumber]) -> int:
    wrong = {one.start: one for one in numbers if one.start is not None and not one.agrees}
    text = path.read_bytes().decode("utf-8")
    # From the end, so that earlier places stay where they are.
    for start, one in sorted(wrong.items(), reverse=True):
        text = text[:start] + alike(one.written, one.recomputed) + text[start + len(one.written) :]
    if wrong:
        write_text(path, text)
    return len(wrong)


def alike(written: str, recomputed: str) -> str:
    """The new number with the old one's habits: a plus sign, its minus, no zero before a point."""
    digits = recomputed.lstrip("-")
    if written.lstrip("+−-").startswith("."):
        digits = digits.removeprefix("0")
    if float(recomputed) < 0:
        return ("-" if written.startswith("-") else "−") + digits
    return ("+" if written[0] in "+−-" else "") + digits
