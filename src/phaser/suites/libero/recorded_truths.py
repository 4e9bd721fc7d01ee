"""What was true, and what the expert was doing, at every step of a recording.

`meta/truths.json` and `meta/stages.json` lie beside the demonstrations; no reader of demonstrations
opens them. Both hold runs: from which step on which value holds. A value belongs to the frame that
was seen when it held, before that frame's action.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import write_json
from phaser.demos.lerobot_layout import inside, small_json

TRUTHS, STAGES = "meta/truths.json", "meta/stages.json"
FORMAT = 1

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedTruths:
    """What each column means, and per episode one row for every step."""

    names: tuple[str, ...]
    episodes: tuple[tuple[tuple[bool, ...], ...], ...]


def write_truths(
    folder: Path, names: Sequence[str], episodes: Sequence[Sequence[Sequence[bool]]]
) -> None:
    """One row of truths for every step of every episode, in the order of the recording."""
    widths = {len(row) for rows in episodes for row in rows}
    if widths - {len(names)}:
        raise BadInput(f"rows of {sorted(widths)} truths for {len(names)} names; expected as many")
    held = [[[k for k, true in enumerate(row) if true] for row in rows] for rows in episodes]
    _write(folder / TRUTHS, held, names=list(names))


def read_truths(folder: Path) -> RecordedTruths | None:
    """The truths of every step; nothing for a recording without them."""
    path = inside(folder, TRUTHS)
    if not path.exists():
        return None
    found = _checked(path)
    names = found.get("names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BrokenFile(f"{path} does not name its truths; record the demonstrations again")

    def row(held: Any) -> tuple[bool, ...]:
        positions = set(map(int, held))
        if positions - set(range(len(names))):
            raise ValueError(f"truths {sorted(positions)} of {len(names)}")
        return tuple(k in positions for k in range(len(names)))

    return RecordedTruths(names=tuple(names), episodes=_episodes(path, found, row))


def write_stage_names(folder: Path, episodes: Sequence[Sequence[str]]) -> None:
    """The name of the expert's stage at every step of every episode."""
    _write(folder / STAGES, episodes)


def read_stage_names(folder: Path) -> tuple[tuple[str, ...], ...] | None:
    """The stages' names of every step; nothing for a recording without them."""
    path = inside(folder, STAGES)
    return _episodes(path, _checked(path), str) if path.exists() else None


def _write(path: Path, episodes: Sequence[Sequence[Any]], **more: Any) -> None:
    write_json(path, {"format": FORMAT, **more, "episodes": [_runs(one) for one in episodes]})


def _runs(values: Sequence[Any]) -> dict[str, Any]:
    starts = [k for k in range(len(values)) if k == 0 or values[k] != values[k - 1]]
    runs = [{"start": start, "holds": values[start]} for start in starts]
    return {"num_frames": len(values), "runs": runs}


def _checked(path: Path) -> dict[str, Any]:
    found = small_json(path)
    if found.get("format") != FORMAT:
        raise BrokenFile(f"{path} has format {found.get('format')!r}, expected {FORMAT}")
    return found


def _episodes(
    path: Path, found: dict[str, Any], value: Callable[[Any], Value]
) -> tuple[tuple[Value, ...], ...]:
    try:
        return tuple(_steps(entry, value) for entry in found["episodes"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BrokenFile(
            f"{path} does not hold runs of episodes ({error}); record the demonstrations again"
        ) from error


def _steps(entry: Any, value: Callable[[Any], Value]) -> tuple[Value, ...]:
    runs = entry["runs"]
    edges = [*(int(run["start"]) for run in runs), int(entry["num_frames"])]
    if edges[0] != 0 or any(later <= earlier for earlier, later in pairwise(edges)):
        raise ValueError(f"runs that start at {edges[:-1]} of {edges[-1]} steps")
    steps: list[Value] = []
    for run, (start, stop) in zip(runs, pairwise(edges), strict=True):
        steps += [value(run["holds"])] * (stop - start)
    return tuple(steps)
