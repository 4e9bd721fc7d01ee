"""Text for a terminal: aligned columns, and nothing in it that could steer the terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def columns(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """Rows with aligned columns, the first one a header; `right` columns end at one edge."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    return [
        "  ".join(
            cell.rjust(width) if k in right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def printable(text: str) -> str:
    """Names come from files; escape sequences among them must not reach the terminal."""
    return "".join(one if one.isprintable() else "?" for one in text)
