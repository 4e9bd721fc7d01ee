"""Text for a terminal: aligned columns, and nothing in it that could steer the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence

from phaser.cli.streams import is_utf8


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


def listing(summaries: Mapping[str, str], *, as_json: bool) -> str:
    """Name and one line each."""
    if as_json:
        return json.dumps(dict(summaries), indent=2, ensure_ascii=not is_utf8(sys.stdout))
    width = max(map(len, summaries))
    return "\n".join(f"{name.ljust(width)}  {summary}" for name, summary in summaries.items())


def printable(text: str) -> str:
    """Names come from files; escape sequences among them must not reach the terminal."""
    return "".join(one if one.isprintable() else "?" for one in text)


def shortened(text: str, width: int) -> str:
    """A name in so many columns: its middle gives way, since names differ at either end."""
    if len(text) <= width:
        return text
    tail = max(0, width - 1) * 2 // 3
    return text[: max(0, width - 1 - tail)] + "…" + text[len(text) - tail :]


def counted(number: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def file_size(num_bytes: float) -> str:
    """A number of bytes in units of 1000, as disks are sold: `532 B`, `12.3 kB`, `4.0 GB`."""
    if num_bytes < 1000:
        return f"{num_bytes:.0f} B"
    for unit in ("kB", "MB", "GB"):
        num_bytes /= 1000
        # 999.95 would be rounded up to a number of four digits.
        if num_bytes < 999.95:
            return f"{num_bytes:.1f} {unit}"
    return f"{num_bytes / 1000:.1f} TB"


def duration(seconds: float) -> str:
    """Roughly, as a guess of the time left deserves: `15 s`, `4 min`, `2.5 h`."""
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"
