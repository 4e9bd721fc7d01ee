"""The memory benchmark's numbers as markdown tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def markdown(rows: Sequence[Row]) -> str:
    parts = [
        _table("Draw: choose 64 frames", rows, lambda row: row["draw"], _timed),
        _table("Batch: choose 64 frames, fetch, decode and stack them", rows, _batch, _timed),
        _table("Bytes per frame", rows, lambda row: row["bytes_per_frame"], lambda b: f"{b:.0f}"),
        _table("Fill, frames per second", rows, _fill_rate, lambda rate: f"{rate:.0f}"),
        _table("Open", rows, lambda row: row["open_s"], lambda s: f"{1e3 * s:.1f} ms"),
        _opening(rows),
    ]
    return "\n".join(parts)


def _table(
    title: str,
    rows: Sequence[Row],
    cells_of: Callable[[Row], Mapping[str, Any]],
    text: Callable[[Any], str],
) -> str:
    names = list(dict.fromkeys(name for row in rows for name in cells_of(row)))
    lines = [
        f"**{title}**",
        "",
        f"| frames | phases | content | {' | '.join(names)} |",
        "|---" * (3 + len(names)) + "|",
    ]
    for row in rows:
        cells = cells_of(row)
        shown = [text(cells[name]) if name in cells else "" for name in names]
        lines.append(
            f"| {row['frames']:,} | {row['phases']:,} | {row['content']} | {' | '.join(shown)} |"
        )
    return "\n".join([*lines, ""])


def _opening(rows: Sequence[Row]) -> str:
    lines = [
        "**Open in a process of its own, then what happens once per task**",
        "",
        "| frames | phases | folder | opened in | phases listed in | memory grows by "
        "| phases scored in |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        for name, found in row["first_open"].items():
            lines.append(
                f"| {row['frames']:,} | {row['phases']:,} | {name}, {row['content']} "
                f"| {1e3 * found['open_s']:.0f} ms | {1e3 * found['phases_s']:.0f} ms "
                f"| {found['resident_bytes'] / 1e6:.0f} MB | {1e3 * row['score_s']:.0f} ms |"
            )
    return "\n".join([*lines, ""])


def _batch(row: Row) -> Mapping[str, Any]:
    cells: Mapping[str, Any] = row["batch"]
    return cells


def _fill_rate(row: Row) -> dict[str, float]:
    return {name: row["frames"] / seconds for name, seconds in row["fill_s"].items()}


def _timed(cell: Mapping[str, Any]) -> str:
    ratio = cell["ratio"]
    return f"{cell['us']:.0f} µs ({_short(ratio['median'])} ×)"


def _short(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
